# The manual pages: R can read them, they name every function that is exported, and every argument.

pages <- function() list.files(file.path("..", "..", "man"), pattern = "[.]Rd$", full.names = TRUE)

# The arguments of a tag, such as `\alias{x}`.
tagged <- function(file, tag) {
  lines <- readLines(file, encoding = "UTF-8")
  found <- regmatches(lines, regexpr(paste0("^\\\\", tag, "\\{[^}]*\\}"), lines))
  sub(paste0("^\\\\", tag, "\\{([^}]*)\\}"), "\\1", found)
}

test_that("every page can be read", {
  expect_gt(length(pages()), 3)
  for (page in pages()) expect_length(tools::checkRd(page), 0)
})

test_that("every exported function has a page with its arguments", {
  space <- asNamespace("reticent")
  described <- unlist(lapply(pages(), tagged, "alias"))
  methods <- c("predict.reticent", "summary.reticent", "coef.reticent")
  expect_true(all(c(getNamespaceExports(space), methods) %in% described))
  for (page in pages()) {
    functions <- Filter(function(name) exists(name, space, mode = "function"), tagged(page, "alias"))
    wanted <- unlist(lapply(functions, function(name) names(formals(get(name, space)))))
    expect_setequal(tagged(page, "item"), sub("^\\.\\.\\.$", "...", wanted))
  }
})
