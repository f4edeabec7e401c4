# Fit rpart or mgcv to a CSV file and score another: Rscript peers.R model seed train test scores
given <- commandArgs(trailingOnly = TRUE)
model <- given[1]
if (!requireNamespace(model, quietly = TRUE)) quit(status = 3)
set.seed(as.integer(given[2]))
train <- read.csv(given[3], stringsAsFactors = TRUE)
test <- read.csv(given[4])
columns <- setdiff(names(train), "y")
for (name in columns) {
  if (is.factor(train[[name]])) test[[name]] <- factor(test[[name]], levels = levels(train[[name]]))
}
if (model == "rpart") {
  # grown large, pruned where the cross-validated error is least
  fit <- rpart::rpart(y ~ ., train, control = rpart::rpart.control(cp = 0.0005, minbucket = 5))
  best <- fit$cptable[which.min(fit$cptable[, "xerror"]), "CP"]
  score <- predict(rpart::prune(fit, cp = best), test)
} else {
  # a smooth of every number with enough values, smoothing by REML; select = TRUE may drop terms
  library(mgcv)
  term <- function(name) {
    values <- train[[name]]
    distinct <- length(unique(values))
    if (is.factor(values) || distinct < 6) name else sprintf("s(%s, k = %d)", name, min(10, distinct - 1))
  }
  formula <- as.formula(paste("y ~", paste(vapply(columns, term, ""), collapse = " + ")))
  fit <- gam(formula, data = train, method = "REML", select = TRUE)
  score <- as.numeric(predict(fit, test))
}
write.csv(data.frame(score = score), given[5], row.names = FALSE)
