import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import type { Report } from '../../model/triggers.ts';
import type { ClinicContext } from '../http/context.ts';
import { type ClinicRecord, createReadingCalls } from './reading-calls.ts';
import { readWhole } from './whole.ts';

/** Reports as a stream: without what they are about. Scope `medicalreports`. */
export interface ReportReader {
  /** Every report; partial when the end of the list was not proved. */
  readReports(tenantId: string, signal: AbortSignal): Promise<Snapshot<Report>>;
  /** One report. */
  readReport(tenantId: string, id: string, signal: AbortSignal): Promise<Lookup<Report>>;
}

/** Prepares the reader under the context's profile. */
export function createReportReader(context: ClinicContext): ReportReader {
  const { list, read } = createReadingCalls(context, 'medicalReports');
  return {
    async readReports(tenantId, signal) {
      const listed = await readWhole((reading) => list(tenantId, [], reading), signal);
      return { ...listed, records: new Map([...listed.records].map(([id, record]) => [id, reportOf(record)])) };
    },
    async readReport(tenantId, id, signal) {
      const answer = await read(tenantId, id, signal);
      return 'found' in answer ? { found: reportOf(answer.found) } : answer;
    },
  };
}

function reportOf({ id, patientId, episodeId, status, fileSizeBytes }: ClinicRecord<'medicalReports'>): Report {
  return { id, patientId, episodeId, status, fileSizeBytes };
}
