/** How a target differs from the clinic, found by reading both and using nothing of the daemon's. */
export interface Comparison {
  /** Appointments, or patients, that the target should show. */
  records: number;
  /** Events, or contacts, that it has. */
  remoteEvents: number;
  /** Those that nothing in the clinic accounts for: doubles, and those of cancelled or moved appointments. */
  duplicates: number;
  /** Appointments without an event at their time, patients without a contact. */
  missing: number;
}
