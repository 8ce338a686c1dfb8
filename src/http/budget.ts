/** A share of what a remote side allows us: one client id, one mailbox, one project. */
export interface Budget {
  /**
   * Waits for a request's worth.
   * @param units what the remote side charges for it; one when absent
   * @throws MirrorError `remote`, code `budget-exhausted`, with `retryAfterMs`, when the wait would be too long to sit through
   */
  take(signal: AbortSignal, units?: number): Promise<void>;
  /** The other side said to wait this long: everybody who shares the budget does. */
  pause(durationMs: number): Promise<void>;
}
