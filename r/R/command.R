# The command: where it is, how it is called, how it refuses.

command <- function() {
  path <- getOption("reticent.command", Sys.getenv("RETICENT", "reticent"))
  found <- Sys.which(path)
  if (!nzchar(found)) {
    stop(
      "the command `", path, "` is not there; install reticent, or name it with ",
      "options(reticent.command = \"/path/to/reticent\")",
      call. = FALSE
    )
  }
  found[[1]]
}

# Runs the command with --json and gives what it printed, as a list. A refusal is an error with the
# command's own sentence; exit code 1 is an answer (FAIL of `verify`).
run <- function(arguments) {
  file <- tempfile("reticent-", fileext = ".json")
  notes <- tempfile("reticent-", fileext = ".txt")
  on.exit(unlink(c(file, notes)))
  words <- shQuote(c(as.character(arguments), "--json"))
  status <- system2(command(), words, stdout = file, stderr = notes)
  told <- if (file.size(file) > 0) jsonlite::read_json(file) else list()
  if (!status %in% c(0, 1) || !is.null(told$error)) {
    sentence <- told$error$message
    if (is.null(sentence)) sentence <- paste("the command ended with", status)
    stop(sentence, call. = FALSE)
  }
  for (note in grep("^note: ", readLines(notes, warn = FALSE), value = TRUE)) {
    message(note)
  }
  told
}

# A number with all its digits.
digits <- function(x) format(x, digits = 17, scientific = NA)

# A data frame as the command reads it: a missing cell is empty, numbers keep their digits.
write_table <- function(data, file) {
  text <- lapply(data, function(column) {
    cells <- if (is.double(column)) {
      vapply(column, digits, "")
    } else {
      as.character(column)
    }
    cells[is.na(column)] <- ""
    cells
  })
  text <- as.data.frame(text, check.names = FALSE, stringsAsFactors = FALSE)
  names(text) <- names(data)
  utils::write.csv(text, file, row.names = FALSE, fileEncoding = "UTF-8")
}
