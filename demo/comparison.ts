/** Differences between a target and the clinic, found by reading both without the daemon's code or data. */
export interface Comparison {
  /** Appointments, or patients, that the target should hold. */
  records: number;
  /** Events, or records of a CRM, that it has. */
  remoteEvents: number;
  /** Events or records without a counterpart in the clinic: duplicates and outdated ones. */
  duplicates: number;
  /** Appointments without an event at their time; contacts and visits that are not there as they should be. */
  missing: number;
}
