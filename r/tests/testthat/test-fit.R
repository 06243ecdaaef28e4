schema <- list(
  name = "clinic", target = "back", positive_class = "yes",
  columns = list(
    list(name = "age", type = "real", bounds = list(min = 0, max = 100)),
    list(name = "ward", type = "categorical", categories = list("surgery", "internal", "other")),
    list(name = "stay", type = "real", bounds = list(min = 0, max = 30)),
    list(name = "back", type = "categorical", categories = list("no", "yes"))
  )
)

clinic <- function(rows = 2000) {
  i <- seq_len(rows)
  age <- (i * 37) %% 101
  data.frame(
    age = age + 0.125,
    ward = c("surgery", "internal", "other")[1 + i %% 3],
    stay = ifelse(i %% 50 == 0, NA, 30 * age / 101),
    back = ifelse(age > 50, "yes", "no"),
    unused = i
  )
}

quietly <- function(code) suppressMessages(code)

test_that("a model is fitted, verified, predicts and is the same after a round trip", {
  data <- clinic()
  model <- quietly(reticent_fit(back ~ ., data, schema, epsilon = 1, delta = 1e-5, algorithm = "output-gd"))
  expect_s3_class(model, "reticent")
  expect_equal(model$file$certificate$budget$epsilon, 1)
  expect_equal(model$file$certificate$budget$delta, 1e-5)
  expect_true(reticent_verify(model)$pass)
  guess <- quietly(predict(model, data))
  expect_gt(mean(guess == data$back), 0.8)
  chance <- quietly(predict(model, data, type = "prob"))
  expect_equal(colnames(chance), c("no", "yes"))
  expect_equal(rowSums(chance), rep(1, nrow(data)), tolerance = 1e-9)
  expect_equal(guess, unname(ifelse(chance[, "yes"] > 0.5, "yes", "no")))
  file <- tempfile(fileext = ".json")
  reticent_save(model, file)
  expect_error(reticent_save(model, file), "already")
  again <- reticent_load(file)
  expect_true(reticent_verify(again)$pass)
  expect_equal(quietly(predict(again, data)), guess)
})

test_that("the formula chooses target and columns", {
  data <- clinic()
  model <- quietly(reticent_fit(back ~ age, data, schema, epsilon = 1, linear = TRUE, algorithm = "output-gd"))
  expect_equal(names(coef(model)), c("age", "(intercept)"))
  stay <- quietly(reticent_fit(stay ~ age, data, schema, epsilon = 5, linear = TRUE, algorithm = "objective"))
  guess <- quietly(predict(stay, data.frame(age = c(10, 90))))
  expect_type(guess, "double")
  expect_lt(guess[1], guess[2])
  expect_error(quietly(predict(stay, data, type = "prob")), "no probabilities")
  expect_error(reticent_fit(back ~ aeg, data, schema, epsilon = 1), "no column `aeg`")
  expect_error(reticent_fit(back ~ log(age), data, schema, epsilon = 1), "no column")
  expect_error(reticent_fit(~age, data, schema, epsilon = 1), "one target")
  expect_error(reticent_fit(back ~ age - 1, data, schema, epsilon = 1), "no_intercept")
  expect_error(reticent_fit(back ~ age + offset(stay), data, schema, epsilon = 1), "offset")
})

test_that("units are named in a word or with their cap", {
  data <- clinic()
  data$patient <- paste0("p", seq_len(nrow(data)) %% 500)
  for (unit in list("patient", list(column = "patient", max_rows = 4))) {
    given <- list(back ~ age, data, c(schema, list(unit = unit)), epsilon = 4, algorithm = "clipped-sgd")
    if (is.character(unit)) given$max_rows <- 4
    model <- quietly(do.call(reticent_fit, given))
    expect_equal(model$file$certificate$budget$adjacency, "replace-one-unit")
  }
})

test_that("what the command refuses is an error with its sentence", {
  data <- clinic(60)
  expect_error(quietly(reticent_fit(back ~ ., data, schema, epsilon = -1)), "epsilon")
  expect_error(quietly(reticent_fit(back ~ ., data, schema, epsilon = 1, algorithm = "sgd")), "algorithm")
  expect_error(reticent_fit(back ~ ., as.list(data), schema, epsilon = 1), "data frame")
  expect_error(reticent_fit(back ~ ., data, 7, epsilon = 1), "schema")
  withr_off <- options(reticent.command = "no-such-reticent")
  on.exit(options(withr_off))
  expect_error(reticent_fit(back ~ ., data, schema, epsilon = 1), "is not there")
})

test_that("an altered model says FAIL in its summary, and a whole one PASS", {
  data <- clinic()
  model <- quietly(reticent_fit(back ~ ., data, schema, epsilon = 0.5, algorithm = "output-gd"))
  whole <- paste(capture.output(print(summary(model))), collapse = "\n")
  expect_match(whole, "PASS: This model is")
  expect_match(whole, "epsilon = 0.5")
  expect_match(whole, "The guarantee assumes")
  expect_output(print(model), "output-gd")
  model$text <- sub("\"epsilon\": *0.5", "\"epsilon\": 0.4", model$text)
  altered <- paste(capture.output(print(summary(model))), collapse = "\n")
  expect_match(altered, "FAIL")
  expect_no_match(altered, "PASS")
})

test_that("a ledger is charged and refuses what it cannot bear", {
  ledger <- tempfile(fileext = ".ledger")
  reticent:::run(c("ledger", "init", ledger, "--epsilon", "1", "--delta", "1e-4"))
  fit <- function(epsilon) {
    quietly(reticent_fit(back ~ ., clinic(), schema, epsilon, delta = 1e-6, ledger = ledger, algorithm = "output-gd"))
  }
  expect_equal(fit(0.7)$file$certificate$payment$charge, 1)
  expect_error(fit(0.9), "epsilon")
})
