import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { StoredFile } from '../data/files.ts';
import type { UploadStyle } from '../dialects/dialect.ts';
import { badRequest, ClinicError, ruleBroken } from '../rules/errors.ts';
import type { ApiContext } from './context.ts';
import { readJson } from './record-bodies.ts';

/** Fits the largest file in base64 with its metadata; a longer body is refused before it is read. */
export const LARGEST_JSON_BYTES = 48 * 1024 * 1024;

/** A stored PDF and its metadata. */
export interface Upload {
  metadata: unknown;
  file: StoredFile;
  /** The name that the part of the form gives. */
  fileName: string | undefined;
}

/** Leaves forms to `readUpload`, so that no file is in memory. */
export function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload));
}

/**
 * Reads the request in the dialect's upload style and streams the file to the store. Throws ClinicError: 400 when a part is missing, 415
 * for another style, 422 when the file is not a PDF, and the rules' status when the file is too large.
 */
export async function readUpload(context: ApiContext, request: FastifyRequest): Promise<Upload> {
  const style = context.dialect.upload;
  const isForm = request.headers['content-type']?.startsWith('multipart/form-data') === true;
  if (isForm ? !style.multipart : !style.base64) {
    throw new ClinicError(415, 'unsupported_media_type', `A report comes as ${style.base64 ? 'JSON' : 'a form'}`);
  }
  const upload = isForm ? await readForm(context, request, style) : await readBase64(context, request, style);
  if (upload.file.head.toString('latin1') === '%PDF-') return upload;
  context.data.files.remove(upload.file.fileId);
  throw ruleBroken(style.filePart, 'must be a PDF');
}

async function readForm(context: ApiContext, request: FastifyRequest, style: UploadStyle): Promise<Upload> {
  const fields: Record<string, string> = {};
  const files: { name: string; fileName: string | undefined; stored: Promise<StoredFile | 'too-large'> }[] = [];
  const form = busboy({ headers: request.headers, limits: { files: 1, fields: 50, fieldSize: 64 * 1024 } });
  form.on('field', (name: string, value: string) => {
    fields[name] = value;
  });
  form.on('file', (name, content, { filename }) => {
    const stored = context.data.files.store(content, context.rules.maxReportBytes);
    // A broken form rejects this promise too; the pipeline below reports the error.
    stored.catch(() => undefined);
    files.push({ name, fileName: filename, stored });
  });
  await pipeline(request.raw, form).catch(() => {
    throw badRequest([{ field: '', message: 'The form is malformed' }]);
  });
  const [part] = files;
  const file = accepted(context, await part?.stored);
  if (part === undefined || file === undefined || part.name !== style.filePart) {
    if (file !== undefined) context.data.files.remove(file.fileId);
    throw badRequest([{ field: style.filePart, message: 'is required' }]);
  }
  try {
    const said = style.metadata === 'part' ? readJson(fields.metadata ?? '') : fields;
    return { metadata: context.dialect.body(said, 'medicalreports'), file, fileName: part.fileName };
  } catch (error) {
    context.data.files.remove(file.fileId);
    throw error;
  }
}

/** JSON has to be whole in memory to be read; the bytes in it are decoded piece by piece. */
async function readBase64(context: ApiContext, request: FastifyRequest, style: UploadStyle): Promise<Upload> {
  const { body } = request;
  const encoded: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, style.filePart) : undefined;
  if (typeof encoded !== 'string' || !isBase64(encoded)) {
    throw badRequest([{ field: style.filePart, message: 'must be base64' }]);
  }
  const file = accepted(
    context,
    await context.data.files.store(Readable.from(decoded(encoded)), context.rules.maxReportBytes),
  );
  if (file === undefined) throw badRequest([{ field: style.filePart, message: 'is required' }]);
  return { metadata: body, file, fileName: undefined };
}

/** Without an expression that could go back over megabytes: the stack is too small for that. */
function isBase64(text: string): boolean {
  return text !== '' && !/[^\w+/=-]/.test(text) && !text.slice(0, -2).includes('=');
}

function* decoded(encoded: string): Generator<Buffer> {
  const step = 256 * 1024;
  for (let start = 0; start < encoded.length; start += step) {
    yield Buffer.from(encoded.slice(start, start + step), 'base64');
  }
}

/** Throws ClinicError with the rules' status when the file is too large. */
function accepted({ rules }: ApiContext, stored: StoredFile | 'too-large' | undefined): StoredFile | undefined {
  if (stored !== 'too-large') return stored;
  throw new ClinicError(rules.oversizeStatus, 'file_too_large', `A PDF may have ${rules.maxReportBytes} bytes at most`);
}
