import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { MEBIBYTE } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { MirrorError } from '../../model/errors.ts';
import { openAnswer } from './call.ts';
import type { ClinicContext } from './context.ts';
import { clinicError, saysAbsent } from './errors.ts';

/** A PDF to be sent. */
export interface PdfSource {
  fileName: string;
  sizeBytes: number;
  /** Its bytes, from the start; asked for again when the request has to be sent again. */
  open(): AsyncIterable<Uint8Array>;
}

/** A PDF that comes from the clinic. `chunks` is to be read to its end or given up, else its connection stays taken. */
export interface PdfDownload {
  /** Null when the clinic doesn't tell it. */
  sizeBytes: number | null;
  /** @throws MirrorError `remote`, code `file-cut-short`, when fewer or more bytes came than told */
  chunks: AsyncIterable<Uint8Array>;
}

/** Largest PDF that is fetched: the clinic takes 25 MB (specification section 8), and no more than a piece is in memory. */
const LARGEST_PDF_BYTES = 64 * MEBIBYTE;
const PDF_BEGIN = Buffer.from('%PDF-');

/** A PDF on the disk. @throws MirrorError `settings`, code `file-unusable`, when it can't be read */
export async function pdfFile(path: string, fileName: string): Promise<PdfSource> {
  const found = await stat(path).catch(() => null);
  const isReadable =
    found?.isFile() === true &&
    (await access(path, constants.R_OK).then(
      () => true,
      () => false,
    ));
  if (isReadable) return { fileName, sizeBytes: found.size, open: () => createReadStream(path) };
  throw clinicError('file-unusable', 'the PDF can not be read');
}

/** @throws MirrorError `contract`, code `not-a-pdf`, for a file that does not begin as PDF files do (ISO 32000-2 section 7.5.2) */
export async function requirePdf(file: PdfSource, label: string): Promise<void> {
  const source = file.open()[Symbol.asyncIterator]();
  const head = await readHead(source);
  await source.return?.();
  if (!startsAsPdf(head)) throw notPdf(label);
}

/**
 * Gets a PDF as a stream; null when there is none (404, 410).
 * @throws MirrorError `contract`, code `not-a-pdf`, when something else came, such as a page of a portal
 */
export async function downloadPdf(
  context: ClinicContext,
  { label, url, signal }: { label: string; url: string; signal: AbortSignal },
): Promise<PdfDownload | null> {
  let isAbsent = false;
  const answer = await openAnswer(context, {
    label,
    url,
    signal,
    timeoutMs: context.profile.limits.fileTimeoutMs,
    maxResponseBytes: Math.max(context.profile.limits.maxAnswerBytes, LARGEST_PDF_BYTES),
    accepts(each) {
      isAbsent = saysAbsent(each, context.profile);
      return isAbsent;
    },
  });
  if (isAbsent) return null;
  const source = answer.body[Symbol.asyncIterator]();
  const head = await readHead(source);
  if (isHtml({ headers: answer.headers, body: head }) || !startsAsPdf(head)) {
    await source.return?.();
    throw notPdf(label);
  }
  const sizeBytes = sizeOf(answer.headers);
  return { sizeBytes, chunks: checked(head, source, sizeBytes, label) };
}

function startsAsPdf(head: Uint8Array): boolean {
  return PDF_BEGIN.equals(head.subarray(0, PDF_BEGIN.length));
}

function notPdf(label: string): MirrorError {
  return new MirrorError(`${label}: the file is no PDF`, { actor: 'contract', code: 'not-a-pdf', retry: 'never' });
}

async function readHead(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < PDF_BEGIN.length) {
    const { done, value } = await source.next();
    if (done === true) return head;
    head = Buffer.concat([head, value]);
  }
  return head;
}

async function* checked(
  head: Buffer,
  source: AsyncIterator<Uint8Array>,
  statedBytes: number | null,
  label: string,
): AsyncGenerator<Uint8Array> {
  let size = head.length;
  try {
    yield head;
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      size += next.value.length;
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
  if (statedBytes === null || statedBytes === size) return;
  throw clinicError('file-cut-short', `${label}: not as many bytes came as were told`);
}

/** The length that was told; that of a coded body is not the file's. */
function sizeOf(headers: Headers): number | null {
  const stated = headers.get('content-length');
  return stated === null || headers.has('content-encoding') ? null : Number(stated);
}
