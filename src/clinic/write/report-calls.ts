import { randomUUID } from 'node:crypto';
import { MirrorError } from '../../core/model/errors.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { message, type Text } from '../../messages/message.ts';
import type { ClinicContext } from '../http/call.ts';
import {
  addressOf,
  downloadPdf,
  type PdfDownload,
  type PdfSource,
  requirePdf,
  send,
  type Upload,
} from '../http/call.ts';
import { clinicError } from '../http/errors.ts';
import { segmentsOf } from '../read/reading.ts';
import type { ClinicRecord, ResourceCalls } from '../read/reading-calls.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { reportDuplicate } from './natural-keys.ts';
import { createResourceCalls, once } from './resource-calls.ts';

type Report = ClinicRecord<'medicalReports'>;

/** Calls of specification section 4.10. */
export interface ReportCalls extends ResourceCalls<Report> {
  /**
   * Creates a report with its PDF as a stream. After an ambiguous failure, the report is searched by patient, date, title and size.
   * @throws MirrorError `settings`, code `file-too-large`, for a file above the profile's `maxBytes` (25 MB, specification section 8)
   *   before anything is sent, and for a refusal by the clinic; `contract`, code `not-a-pdf`, before anything is sent
   */
  create(tenantId: string, values: Partial<Report>, file: PdfSource, signal: AbortSignal): Promise<Report>;
  /** Returns the PDF of a report as a stream, or null. */
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
    const onFault = (error: MirrorError) => {
      fault = error;
    };
    try {
      const answer = await send(context, {
        label,
        url: addressOf(context, segmentsOf(context.profile, { list: 'medicalReports', tenantId })),
        method: 'POST',
        upload: () => uploadOf(rules, metadata, file, { label, onFailure: onFault }),
        timeoutMs: profile.limits.fileTimeoutMs,
        signal,
      });
      return await written('create', answer, { tenantId, id: null, signal });
    } catch (error) {
      if (fault !== null) throw fault;
      const status = error instanceof MirrorError ? error.status : undefined;
      if (status === undefined || !profile.errors.tooLarge.includes(status)) throw error;
      throw tooLarge(label, message('clinic.file-too-large.profile'));
    }
  }

  return {
    list,
    read,
    async create(tenantId, values, file, signal) {
      checkSize(file.sizeBytes, rules, label);
      await requirePdf(file, label);
      const duplicate = reportDuplicate(values, file.sizeBytes);
      const attempt = () => upload(tenantId, values, file, signal);
      return once(attempt, duplicate === null ? null : () => find(tenantId, duplicate, signal));
    },
    pdf: (tenantId, id, signal) =>
      downloadPdf(context, {
        label: 'clinic.medicalReports.pdf',
        url: addressOf(context, segmentsOf(context.profile, { list: 'medicalReports', tenantId }, id, 'pdf')),
        signal,
      }),
  };
}

/** A profile's rules for uploads. */
export type UploadRules = ClinicProfile['medicalReports']['upload'];

/** Base64 works on groups of three bytes (RFC 4648 section 4). */
const GROUP_BYTES = 3;

/**
 * Builds the body of a request with a file and its metadata as a stream: memory never holds the complete file.
 * @param fail receives an error of the file, which the network would report only as a broken connection
 * @throws MirrorError `settings`, code `file-too-large`, for a file above the profile's limit
 */
export function uploadOf(
  rules: UploadRules,
  metadata: JsonObject,
  file: PdfSource,
  { label, onFailure: fail }: { label: string; onFailure(error: MirrorError): void },
): Upload {
  checkSize(file.sizeBytes, rules, label);
  const content = () => watched(file, rules, label, fail);
  const sent =
    rules.style === 'multipart' ? form(rules, metadata, file, content) : base64(rules, metadata, file, content);
  return { ...sent, metadata, file: { name: file.fileName, sizeBytes: file.sizeBytes } };
}

/** Throws for a file that is too large, before anything is sent. */
function checkSize(sizeBytes: number, { maxBytes }: UploadRules, label: string): void {
  if (sizeBytes <= maxBytes) return;
  throw tooLarge(label, message('clinic.file-too-large.limit', { count: maxBytes }));
}

function tooLarge(label: string, remedy: Text): MirrorError {
  return clinicError('file-too-large', message('clinic.file-too-large', { label }), { remedy });
}

/** Body of the request. */
type Body = Pick<Upload, 'contentType' | 'lengthBytes' | 'stream'>;

/** Yields the file's bytes and fails if their number differs from the announced size. */
async function* watched(
  file: PdfSource,
  rules: UploadRules,
  label: string,
  onFault: (error: MirrorError) => void,
): AsyncGenerator<Uint8Array> {
  const fail = (error: MirrorError): never => {
    onFault(error);
    throw error;
  };
  let size = 0;
  for await (const chunk of file.open()) {
    size += chunk.length;
    if (size > rules.maxBytes) fail(tooLarge(label, message('clinic.file-too-large.limit', { count: rules.maxBytes })));
    if (size > file.sizeBytes) fail(changed(label));
    yield chunk;
  }
  if (size !== file.sizeBytes) fail(changed(label));
}

function changed(label: string): MirrorError {
  return clinicError('file-changed', message('clinic.file-changed', { label }));
}

/** Builds a form (RFC 7578): the metadata as one part or as separate parts, then the file. */
function form(
  rules: UploadRules,
  metadata: JsonObject,
  file: PdfSource,
  content: () => AsyncIterable<Uint8Array>,
): Body {
  const boundary = `form-${randomUUID()}`;
  const part = (name: string, type: string, text: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"\r\n${type}\r\n${text}\r\n`;
  const fields =
    rules.metadata === 'part'
      ? [part(rules.metadataPart, 'content-type: application/json\r\n', JSON.stringify(metadata))]
      : Object.entries(metadata).flatMap(([name, value]) => (value === null ? [] : [part(name, '', plain(value))]));
  const disposition = `name="${quoted(rules.filePart)}"; filename="${quoted(file.fileName)}"`;
  const begin = Buffer.from(
    `${fields.join('')}--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\ncontent-type: application/pdf\r\n\r\n`,
  );
  const end = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    lengthBytes: begin.length + file.sizeBytes + end.length,
    stream: joined(begin, content(), end),
  };
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Escapes a name like browsers do in forms (WHATWG HTML, multipart/form-data encoding). */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Builds a JSON body whose last member is the file in base64. */
function base64(
  rules: UploadRules,
  metadata: JsonObject,
  file: PdfSource,
  content: () => AsyncIterable<Uint8Array>,
): Body {
  const members = JSON.stringify(metadata).slice(0, -1);
  const comma = members.length > 1 ? ',' : '';
  const begin = Buffer.from(`${members}${comma}${JSON.stringify(rules.filePart)}:"`);
  const end = Buffer.from('"}');
  return {
    contentType: 'application/json',
    lengthBytes: begin.length + Math.ceil(file.sizeBytes / GROUP_BYTES) * 4 + end.length,
    stream: joined(begin, encoded(content()), end),
  };
}

async function* encoded(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    const whole = Buffer.concat([rest, chunk]);
    const usable = whole.length - (whole.length % GROUP_BYTES);
    rest = whole.subarray(usable);
    if (usable > 0) yield Buffer.from(whole.subarray(0, usable).toString('base64'), 'latin1');
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
}

async function* joined(
  begin: Uint8Array,
  content: AsyncIterable<Uint8Array>,
  end: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield begin;
  yield* content;
  yield end;
}
