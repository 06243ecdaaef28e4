#' Fit a private model
#'
#' @param formula The target and the columns to learn from, as `income ~ age + region` or
#'   `income ~ .`. Only names: a transformation would have to be public, so it belongs into the
#'   schema. Columns of the schema that the formula leaves out are not looked at.
#' @param data A data frame.
#' @param schema The public facts about the table: a path to a schema file, or a list with its
#'   contents. Bounds and categories must not be read off `data`.
#' @param epsilon The allowed privacy loss.
#' @param delta The additive slack of the guarantee; `min(1e-6, 1/(10 n))` if not given.
#' @param adjacency `"replace-one"`, `"add-remove-one"` (with `rows = ` the declared number) or
#'   `"zero-out"`.
#' @param ledger A ledger file to charge before a row is read.
#' @param ... Further options of `reticent fit`, by their names with underscores:
#'   `algorithm = "objective"`, `loss = "huber"`, `linear = TRUE`, `unit = "patient"`,
#'   `max_rows = 4`.
#' @return An object of class `reticent` with the model and its certificate.
#' @examples
#' \dontrun{
#' schema <- list(
#'   name = "cars", target = "am", positive_class = "1",
#'   columns = list(
#'     list(name = "wt", type = "real", bounds = list(min = 1, max = 6)),
#'     list(name = "am", type = "categorical", categories = list("0", "1"))
#'   )
#' )
#' model <- reticent_fit(am ~ wt, mtcars, schema, epsilon = 1)
#' summary(model)
#' predict(model, mtcars)
#' }
#' @export
reticent_fit <- function(formula, data, schema, epsilon, delta = NULL, adjacency = "replace-one",
                         ledger = NULL, ...) {
  if (!is.data.frame(data)) stop("`data` must be a data frame", call. = FALSE)
  declared <- restrict(read_schema(schema), formula)
  folder <- tempfile("reticent-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  jsonlite::write_json(declared, at("schema.json"), auto_unbox = TRUE, digits = NA, null = "null")
  used <- intersect(names(data), c(column_names(declared), unit_column(declared), list(...)$unit))
  write_table(data[used], at("table.csv"))
  options <- c(list(epsilon = epsilon, delta = delta, adjacency = adjacency, ledger = ledger), list(...))
  run(c(
    "fit", "--data", at("table.csv"), "--schema", at("schema.json"), "--out", at("model.json"),
    flags(options)
  ))
  model <- reticent_load(at("model.json"))
  model$formula <- formula
  model$call <- match.call()
  model
}

# Options by their names as flags: TRUE switches one on, FALSE off, NULL leaves it out.
flags <- function(options) {
  unlist(lapply(names(options), function(name) {
    value <- options[[name]]
    flag <- paste0("--", gsub("_", "-", name))
    if (is.null(value)) {
      NULL
    } else if (is.logical(value)) {
      if (value) flag else paste0(flag, "=false")
    } else {
      c(flag, if (is.double(value)) digits(value) else as.character(value))
    }
  }))
}

read_schema <- function(schema) {
  if (is.character(schema) && length(schema) == 1) {
    return(jsonlite::read_json(schema))
  }
  if (is.list(schema) && !is.null(schema$columns)) {
    return(schema)
  }
  stop("`schema` must be a path to a schema file or a list with `columns`", call. = FALSE)
}

column_names <- function(schema) {
  vapply(schema$columns, function(column) trimws(column$name), "")
}

# The column of units: `"unit": "patient"` and `"unit": {"column": "patient", ...}` both name it.
unit_column <- function(schema) {
  if (is.list(schema$unit)) schema$unit$column else schema$unit
}

# The schema with the formula's target, without the columns that the formula leaves out.
restrict <- function(schema, formula) {
  if (!inherits(formula, "formula") || length(formula) != 3 || !is.name(formula[[2]])) {
    stop("`formula` must name one target, as `income ~ age + region`", call. = FALSE)
  }
  target <- as.character(formula[[2]])
  known <- column_names(schema)
  terms <- stats::terms(formula, data = stats::setNames(rep(list(0), length(known)), known))
  wanted <- attr(terms, "term.labels")
  wanted <- gsub("^`|`$", "", wanted)
  if (attr(terms, "intercept") == 0) {
    stop("`formula` must not drop the constant: say `no_intercept = TRUE`", call. = FALSE)
  }
  if (!is.null(attr(terms, "offset"))) {
    stop("`formula` must not have an offset: no model takes one; subtract it from the target", call. = FALSE)
  }
  unknown <- setdiff(c(target, wanted), known)
  if (length(unknown) > 0) {
    stop("the schema has no column `", unknown[[1]], "`: declare it, or correct `formula`", call. = FALSE)
  }
  schema$target <- target
  schema$columns <- lapply(schema$columns, function(column) {
    name <- trimws(column$name)
    unused <- !name %in% c(target, wanted)
    if (name == target) column$role <- "target"
    if (unused && identical(column$role %||% "feature", "feature")) column$role <- "ignore"
    if (unused && identical(column$role, "target")) column$role <- "ignore"
    column
  })
  schema
}

`%||%` <- function(x, y) if (is.null(x)) y else x
