import { MirrorError } from '../../model/errors.ts';
import { addressOf } from '../http/addresses.ts';
import { send } from '../http/call.ts';
import type { ClinicContext } from '../http/context.ts';
import { downloadPdf, type PdfDownload, type PdfSource, requirePdf } from '../http/files.ts';
import { segmentsOf } from '../read/reading.ts';
import type { ClinicRecord, ResourceCalls } from '../read/reading-calls.ts';
import { reportTwin } from './natural-keys.ts';
import { once } from './once.ts';
import { createResourceCalls } from './resource-calls.ts';
import { checkSize, tooLarge, uploadOf } from './uploads.ts';

type Report = ClinicRecord<'medicalReports'>;

/** The calls of specification section 4.10. */
export interface ReportCalls extends ResourceCalls<Report> {
  /**
   * Creates a report with its PDF, streamed. When no clear answer came, it is looked up by patient, date, title and size.
   * @throws MirrorError `settings`, code `file-too-large`, above the profile's `maxBytes` (25 MB, specification section 8)
   *   before anything is sent, and when the clinic says so; `contract`, code `not-a-pdf`, before anything is sent
   */
  create(tenantId: string, values: Partial<Report>, file: PdfSource, signal: AbortSignal): Promise<Report>;
  /** The PDF of a report as a stream; null when there is none. */
  pdf(tenantId: string, id: string, signal: AbortSignal): Promise<PdfDownload | null>;
}

/** Prepares the calls under the context's profile. */
export function createReportCalls(context: ClinicContext): ReportCalls {
  const { profile } = context;
  const { upload: rules } = profile.medicalReports;
  const { list, read, write, find, written } = createResourceCalls(context, 'medicalReports');
  const label = 'clinic.medicalReports.create';

  async function upload(tenantId: string, values: Partial<Report>, file: PdfSource, signal: AbortSignal) {
    const metadata = write(values);
    let fault: MirrorError | null = null;
    const told = (error: MirrorError) => {
      fault = error;
    };
    try {
      const answer = await send(context, {
        label,
        url: addressOf(context, segmentsOf('medicalReports', tenantId)),
        method: 'POST',
        upload: () => uploadOf(rules, metadata, file, { label, told }),
        timeoutMs: profile.limits.fileTimeoutMs,
        signal,
      });
      return await written('create', answer, tenantId, null, signal);
    } catch (error) {
      if (fault !== null) throw fault;
      const status = error instanceof MirrorError ? error.status : undefined;
      if (status === undefined || !profile.errors.tooLarge.includes(status)) throw error;
      throw tooLarge(label, 'the clinic takes less than medicalReports.upload.maxBytes of its profile');
    }
  }

  return {
    list,
    read,
    async create(tenantId, values, file, signal) {
      checkSize(file.sizeBytes, rules, label);
      await requirePdf(file, label);
      const twin = reportTwin(values, file.sizeBytes);
      const attempt = () => upload(tenantId, values, file, signal);
      return once(attempt, twin === null ? null : () => find(tenantId, twin, signal));
    },
    pdf: (tenantId, id, signal) =>
      downloadPdf(context, {
        label: 'clinic.medicalReports.pdf',
        url: addressOf(context, segmentsOf('medicalReports', tenantId, id, 'pdf')),
        signal,
      }),
  };
}
