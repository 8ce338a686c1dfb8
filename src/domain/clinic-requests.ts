import type { TenantSource } from '../clinic/tenant-source.ts';
import type { AppointmentStatus } from '../core/model/records.ts';
import type { Clock } from '../core/model/time.ts';
import type { CycleFollower } from './followers.ts';
import type { RunReport } from './runs.ts';
import type { StreamMemory } from './stream-memory.ts';

/** Requests of a cycle to the clinic, for one tenant. */
export interface ClinicSource extends Omit<TenantSource, 'within' | 'readReports' | 'readReport'> {
  /**
   * Sets the status in the clinic.
   * @throws MirrorError from the clinic's calls; `ambiguous` if the status may have been set
   */
  setStatus(id: string, status: AppointmentStatus, signal: AbortSignal): Promise<void>;
}

/** What reading the clinic uses. */
export interface ClinicReader {
  clinic: ClinicSource;
  clock: Clock;
  memory: StreamMemory;
  runs: { list(limit: number): Promise<RunReport[]> };
  followers: readonly Pick<CycleFollower, 'namedIds'>[];
}
