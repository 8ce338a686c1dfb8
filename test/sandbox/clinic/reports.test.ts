import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, firstTenant, frontDeskToken, type Json, NOW, rowsOf } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let base: string;
let metadata: Json;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 200, now: NOW });
  token = await frontDeskToken(sandbox);
  base = `/v2/tenants/${firstTenant(sandbox).id}`;
  const [patient] = rowsOf(await call(sandbox, token, 'GET', `${base}/patients`));
  metadata = { patientId: patient?.id, title: 'Referto', reportDate: '2026-03-20' };
});

afterAll(() => sandbox.close());
afterEach(() => void Object.assign(sandbox.rules, { maxReportBytes: 25_000_000, oversizeStatus: 413 }));

function pdfOf(bytes: number): Buffer {
  const pdf = Buffer.alloc(bytes, 'clinic');
  pdf.write('%PDF-1.4\n');
  return pdf;
}

function form(parts: Record<string, string | Blob>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, value, 'referto.pdf');
  }
  return data;
}

async function upload(body: FormData): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${sandbox.baseUrl}${base}/medicalreports`, {
    method: 'POST',
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    body,
  });
  return { status: response.status, body: (await response.json()) as Json };
}

function uploadPdf(pdf: Buffer, said: Json = metadata): ReturnType<typeof upload> {
  return upload(form({ file: new Blob([new Uint8Array(pdf)]), metadata: JSON.stringify(said) }));
}

async function download(id: unknown): Promise<Response> {
  return fetch(`${sandbox.baseUrl}${base}/medicalreports/${id}/pdf`, {
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
  });
}

describe('a report', () => {
  test('sent as a form comes back byte for byte', async () => {
    const pdf = pdfOf(700_001);
    const created = await uploadPdf(pdf);
    expect(created.status).toBe(201);
    const sha256 = createHash('sha256').update(pdf).digest('hex');
    expect(created.body).toMatchObject({ fileName: 'referto.pdf', fileSize: 700_001, sha256 });
    expect(created.body).not.toHaveProperty('fileId');
    const answer = await download(created.body.id);
    expect(answer.headers.get('content-length')).toBe('700001');
    expect(Buffer.from(await answer.arrayBuffer()).equals(pdf)).toBe(true);
  });

  test('sent as JSON with base64 comes back byte for byte', async () => {
    const pdf = pdfOf(2_000_003);
    const body = { ...metadata, fileName: 'a b.pdf', file: pdf.toString('base64') };
    const created = await call(sandbox, token, 'POST', `${base}/medicalreports`, body);
    expect([created.status, created.body.fileName]).toEqual([201, 'a b.pdf']);
    expect(Buffer.from(await (await download(created.body.id)).arrayBuffer()).equals(pdf)).toBe(true);
  });

  test('that the clinic invented has the size and the checksum that it tells', async () => {
    const [report] = rowsOf(await call(sandbox, token, 'GET', `${base}/medicalreports`));
    const pdf = Buffer.from(await (await download(report?.id)).arrayBuffer());
    expect([pdf.length, createHash('sha256').update(pdf).digest('hex')]).toEqual([report?.fileSize, report?.sha256]);
  });

  test('is refused when parts are missing, metadata are wrong, or it is no PDF', async () => {
    const file = new Blob([new Uint8Array(pdfOf(100))]);
    expect((await upload(form({ metadata: JSON.stringify(metadata) }))).status).toBe(400);
    expect((await upload(form({ file, metadata: '{' }))).status).toBe(400);
    expect((await upload(form({ other: file, metadata: JSON.stringify(metadata) }))).status).toBe(400);
    expect((await uploadPdf(pdfOf(100), { ...metadata, reportDate: 'x' })).body.details).toMatchObject([
      { field: 'reportDate' },
    ]);
    expect((await uploadPdf(pdfOf(100), { ...metadata, patientId: 'none' })).status).toBe(422);
    expect((await uploadPdf(pdfOf(100), { ...metadata, episodeId: 'none' })).status).toBe(422);
    expect((await uploadPdf(Buffer.from('hello'))).status).toBe(422);
    const notBase64 = await call(sandbox, token, 'POST', `${base}/medicalreports`, { ...metadata, file: '!' });
    expect(notBase64.status).toBe(400);
  });

  test.each([400, 413, 422] as const)(
    'that is one byte too large is refused with %i, if the rules say so',
    async (status) => {
      Object.assign(sandbox.rules, { maxReportBytes: 300_000, oversizeStatus: status });
      const before = (await call(sandbox, token, 'GET', `${base}/medicalreports`)).body.total;
      const refused = await uploadPdf(pdfOf(300_001));
      expect([refused.status, refused.body.error]).toEqual([status, 'file_too_large']);
      expect((await uploadPdf(pdfOf(300_000))).status).toBe(201);
      expect((await call(sandbox, token, 'GET', `${base}/medicalreports`)).body.total).toBe(Number(before) + 1);
    },
  );
});

test('24.9 MB go up and down, 25.1 MB are refused', async () => {
  const megabyte = pdfOf(1_000_000);
  async function send(bytes: number): Promise<{ status: number; body: Json }> {
    const boundary = 'boundary-of-the-test';
    async function* parts(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="metadata"\r\n\r\n${JSON.stringify(metadata)}\r\n` +
          `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="gross.pdf"\r\n` +
          'content-type: application/pdf\r\n\r\n',
      );
      for (let left = bytes; left > 0; left -= megabyte.length) yield megabyte.subarray(0, left);
      yield Buffer.from(`\r\n--${boundary}--\r\n`);
    }
    const response = await fetch(`${sandbox.baseUrl}${base}/medicalreports`, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
      },
      body: ReadableStream.from(parts()),
      duplex: 'half',
    } as RequestInit);
    return { status: response.status, body: (await response.json()) as Json };
  }

  const created = await send(24_900_000);
  let received = 0;
  for await (const chunk of (await download(created.body.id)).body ?? []) received += chunk.length;
  expect([created.status, received]).toEqual([201, 24_900_000]);
  expect((await send(25_100_000)).status).toBe(413);
});
