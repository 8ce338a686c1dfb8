/** How a target differs from the clinic, found by reading both and using nothing of the daemon's. */
export interface Comparison {
  /** Appointments, or patients, that the target should hold. */
  records: number;
  /** Events, or records of a CRM, that it has. */
  remoteEvents: number;
  /** Those that nothing in the clinic accounts for: doubles, and those that tell of what is no more. */
  duplicates: number;
  /** Appointments without an event at their time; contacts and visits that are not there as they should be. */
  missing: number;
}
