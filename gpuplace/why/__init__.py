"""Why a node is where it is: verdicts, explanations, blame, differences, remedies and error sentences."""
