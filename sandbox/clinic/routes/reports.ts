import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MedicalReport } from '../data/care-records.ts';
import type { Entry } from '../data/documents.ts';
import { reportPdf } from '../data/seed-records.ts';
import { notFound, ruleBroken } from '../rules/errors.ts';
import type { ApiContext } from './context.ts';
import { answerCreated, answerDocuments, entryToWire } from './documents.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import { type ReportInput, readReport } from './record-bodies.ts';
import { LARGEST_JSON_BYTES, readUpload, type Upload } from './uploads.ts';

const BASE = '/v2/tenants/:tenantId/medicalreports';

/** Section 4.10 of the specification. */
export function reportRoutes(app: FastifyInstance, context: ApiContext): void {
  const { data } = context;
  const read = { preHandler: guard(context, { scope: 'medicalreports', permission: 'medicalreports.read' }) };
  const write = {
    preHandler: guard(context, { scope: 'medicalreports', permission: 'medicalreports.write' }),
    bodyLimit: LARGEST_JSON_BYTES,
  };

  app.get(BASE, read, async (request) =>
    answerDocuments(context, request, data.reports, {
      isDated: true,
      equal: ['patientId', 'episodeId', 'status'],
      toWire: toWire,
    }),
  );

  app.get(`${BASE}/:medicalReportId`, read, async (request) => toWire(context, find(context, request)));

  app.get(`${BASE}/:medicalReportId/pdf`, read, async (request, reply) => {
    const { id, fileId, fileSize, fileName } = find(context, request).record;
    const safeName = encodeURIComponent(fileName);
    return reply
      .type('application/pdf')
      .header('content-length', fileSize)
      .header('content-disposition', `attachment; filename*=UTF-8''${safeName}`)
      .send(fileId === null ? reportPdf(id) : Readable.from(data.files.read(fileId), { objectMode: false }));
  });

  app.post(BASE, write, async (request, reply) => {
    const tenantId = tenantIdOf(request) ?? '';
    const upload = await readUpload(context, request);
    try {
      const created = save(context, tenantId, upload);
      return answerCreated(
        reply,
        `/v2/tenants/${tenantId}/medicalreports/${created.record.id}`,
        toWire(context, created),
      );
    } catch (error) {
      data.files.remove(upload.file.fileId);
      throw error;
    }
  });
}

/** Throws ClinicError 400 for malformed metadata, 422 for unknown references in the metadata. */
function save({ data }: ApiContext, tenantId: string, { metadata, file, fileName }: Upload): Entry<MedicalReport> {
  const input = readReport(metadata);
  checkReferences(data, tenantId, input);
  const now = data.clock();
  const id = data.ids.next('rep');
  const record: MedicalReport = {
    id,
    ...input,
    fileName: input.fileName ?? fileName ?? `${id}.pdf`,
    fileSize: file.size,
    contentType: 'application/pdf',
    sha256: file.sha256,
    fileId: file.fileId,
  };
  const sortAt = data.zone.startOfDay(record.reportDate);
  const created = { tenantId, record, sortAt, createdAt: now, updatedAt: now };
  data.reports.save(created);
  return created;
}

function checkReferences(data: ApiContext['data'], tenantId: string, input: ReportInput): void {
  if (data.patients.get(tenantId, input.patientId) === undefined) throw ruleBroken('patientId', 'Unknown patient');
  if (input.episodeId === null) return;
  const episode = data.episodes.get(tenantId, input.episodeId)?.record;
  if (episode === undefined) throw ruleBroken('episodeId', 'Unknown episode');
  const knows = episode.practices.some(({ practiceId }) => practiceId === input.practiceId);
  if (input.practiceId !== null && !knows) throw ruleBroken('practiceId', 'Unknown practice');
}

function toWire(context: ApiContext, entry: Entry<MedicalReport>): object {
  const { fileId: _, ...record } = entry.record;
  return entryToWire(context, { ...entry, record });
}

/** Throws ClinicError 404. */
function find({ data }: ApiContext, request: FastifyRequest): Entry<MedicalReport> {
  const found = data.reports.get(tenantIdOf(request) ?? '', pathParameter(request, 'medicalReportId') ?? '');
  if (found === undefined) throw notFound('medical report');
  return found;
}
