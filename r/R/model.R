#' Load, save and verify a model file
#'
#' @param file The path of a model file.
#' @param model A model.
#' @return `reticent_load` gives a model; `reticent_verify` a list with `pass` and the checks.
#' @name reticent_file
NULL

#' @rdname reticent_file
#' @export
reticent_load <- function(file) {
  text <- readChar(file, file.size(file), useBytes = TRUE)
  Encoding(text) <- "UTF-8"
  structure(list(text = text, file = jsonlite::parse_json(text)), class = "reticent")
}

#' @rdname reticent_file
#' @export
reticent_save <- function(model, file) {
  if (file.exists(file)) stop("`", file, "` is there already: name another file", call. = FALSE)
  write_model(model, file)
  invisible(file)
}

#' @rdname reticent_file
#' @export
reticent_verify <- function(model) {
  with_file(model, function(file) run(c("verify", file)))
}

# The bytes of the file as they were read: another spelling of a number would not verify.
write_model <- function(model, file) {
  writeBin(charToRaw(model$text), file)
}

with_file <- function(model, use) {
  file <- tempfile("reticent-", fileext = ".json")
  on.exit(unlink(file))
  write_model(model, file)
  use(file)
}

#' Predict with a private model
#'
#' @param object A model.
#' @param newdata A data frame with the columns that the model was fitted on.
#' @param type `"response"` for classes or numbers, `"prob"` for the probability of each class.
#' @param ... Not used.
#' @export
predict.reticent <- function(object, newdata, type = c("response", "prob"), ...) {
  type <- match.arg(type)
  folder <- tempfile("reticent-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  write_model(object, at("model.json"))
  used <- intersect(names(newdata), column_names(object$file$task$declaration))
  write_table(newdata[used], at("table.csv"))
  run(c("predict", "--model", at("model.json"), "--data", at("table.csv"), "--out", at("predictions.csv")))
  classes <- is.null(target(object)$bounds)
  found <- utils::read.csv(
    at("predictions.csv"),
    check.names = FALSE,
    colClasses = if (classes) c(prediction = "character") else NA
  )
  if (type == "response") {
    return(found$prediction)
  }
  probabilities <- grep("^probability ", names(found))
  if (length(probabilities) == 0) stop("this model gives no probabilities", call. = FALSE)
  found <- as.matrix(found[probabilities])
  colnames(found) <- sub("^probability ", "", colnames(found))
  found
}

target <- function(model) {
  declaration <- model$file$task$declaration
  is_target <- vapply(declaration$columns, function(column) {
    identical(column$role, "target") || identical(column$name, declaration$target)
  }, NA)
  declaration$columns[[which(is_target)[[1]]]]
}

#' @export
coef.reticent <- function(object, ...) {
  names <- unlist(object$file$features)
  weights <- lapply(object$file$weights, unlist)
  if (length(weights) == 1 && length(weights[[1]]) == length(names)) {
    return(stats::setNames(weights[[1]], names))
  }
  weights
}

#' @export
print.reticent <- function(x, ...) {
  cat(x$file$certificate$statement, "\n", sep = "")
  cat(
    x$file$certificate$plan$algorithm, ", ", length(unlist(x$file$weights)), " weights, target ",
    target(x)$name, "\n",
    sep = ""
  )
  invisible(x)
}

#' Summary of a private model
#'
#' Recomputes the certificate and shows what it says, beside the coefficients.
#'
#' @param object A model.
#' @param ... Not used.
#' @export
summary.reticent <- function(object, ...) {
  certificate <- object$file$certificate
  structure(
    list(
      call = object$call,
      verification = reticent_verify(object),
      budget = certificate$budget,
      epsilon_upper = certificate$epsilon_upper,
      algorithm = certificate$plan$algorithm,
      assumptions = vapply(certificate$assumptions, function(a) a$statement, ""),
      coefficients = stats::coef(object)
    ),
    class = "summary.reticent"
  )
}

#' @export
print.summary.reticent <- function(x, ...) {
  if (!is.null(x$call)) cat("Call:", deparse(x$call), sep = "\n")
  verification <- x$verification
  cat("\n", if (verification$pass) "PASS" else "FAIL", ": ", verification$statement, "\n", sep = "")
  if (isTRUE(verification$pass)) {
    cat("Algorithm:", x$algorithm, "\n")
    cat("The guarantee assumes:\n", paste0("  ", x$assumptions, "\n"), sep = "")
  }
  if (is.numeric(x$coefficients)) {
    cat("\nCoefficients of the encoded columns:\n")
    print(x$coefficients, digits = 4)
  }
  invisible(x)
}
