/** Reports slow work at the terminal. One line per call, without a line end. */
export type Progress = (message: string) => void;

/** Progress on standard error, where it doesn't mix with a command's output. */
export function terminalProgress(message: string): void {
  process.stderr.write(`[set-up] ${message}\n`);
}
