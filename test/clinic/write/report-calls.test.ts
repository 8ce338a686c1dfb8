import { once } from 'node:events';
import busboy from 'busboy';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PdfSource, requirePdf } from '../../../src/clinic/http/call.ts';
import { type UploadRules, uploadOf } from '../../../src/clinic/write/report-calls.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { profileOf } from '../open-client.ts';

const { upload: RULES } = profileOf().medicalReports;

const METADATA = { patientId: 'p "1"', title: 'Referto à', page: 2, doctorId: null };

/** A PDF whose bytes come in pieces of these sizes. */
function pieces(sizes: number[]): PdfSource & { bytes: Buffer } {
  const size = sizes.reduce((sum, one) => sum + one, 0);
  const bytes = Buffer.concat([Buffer.from('%PDF-'), Buffer.from(Array.from({ length: size }, (_, at) => at % 251))]);
  async function* open(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 5);
    let start = 5;
    for (const one of sizes) {
      yield bytes.subarray(start, start + one);
      start += one;
    }
  }
  return { fileName: 'a "b"\r\n.pdf', sizeBytes: bytes.length, bytes, open };
}

function bodyOf(rules: Partial<UploadRules>, file: PdfSource) {
  const made = uploadOf({ ...RULES, ...rules }, METADATA, file, { label: 'x', onFailure: () => undefined });
  return { ...made, whole: Array.fromAsync(made.stream).then((chunks) => Buffer.concat(chunks)) };
}

const SIZES = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 8 });

test('base64 is valid JSON with the file, whatever its chunks, and has the announced length', async () => {
  await fc.assert(
    fc.asyncProperty(SIZES, async (sizes) => {
      const file = pieces(sizes);
      const { whole, lengthBytes, contentType } = bodyOf({ style: 'base64', filePart: 'pdf' }, file);
      const { pdf, ...rest } = JSON.parse((await whole).toString()) as { pdf: string };
      expect(Buffer.from(pdf, 'base64').equals(file.bytes)).toBe(true);
      expect(rest).toEqual(METADATA);
      expect([lengthBytes, contentType]).toEqual([(await whole).length, 'application/json']);
    }),
  );
});

test.each([
  ['part', { metadata: JSON.stringify(METADATA) }],
  ['fields', { patientId: 'p "1"', title: 'Referto à', page: '2' }],
] as const)(
  'a form with its metadata as %s is readable by a server, and has the announced length',
  async (metadata, told) => {
    await fc.assert(
      fc.asyncProperty(SIZES, async (sizes) => {
        const file = pieces(sizes);
        const { whole, lengthBytes, contentType } = bodyOf({ metadata }, file);
        const form = busboy({ headers: { 'content-type': contentType } });
        const fields: Record<string, string> = {};
        const files: Promise<[string, string, Buffer]>[] = [];
        form.on('field', (name, value) => {
          fields[name] = value;
        });
        form.on('file', (name, content, { filename, mimeType }) => {
          expect(filename).toBe('a %22b%22%0D%0A.pdf');
          files.push(
            Array.fromAsync(content as AsyncIterable<Buffer>).then((all) => [name, mimeType, Buffer.concat(all)]),
          );
        });
        const closed = once(form, 'close');
        form.end(await whole);
        await closed;
        expect(fields).toEqual(told);
        expect(await Promise.all(files)).toEqual([['file', 'application/pdf', file.bytes]]);
        expect(lengthBytes).toBe((await whole).length);
      }),
      { numRuns: 30 },
    );
  },
);

test.each([
  ['%PDF-1.7', null],
  ['%PDF-', null],
  ['%PDF', 'not-a-pdf'],
  ['', 'not-a-pdf'],
  ['<html>', 'not-a-pdf'],
  [' %PDF-1.7', 'not-a-pdf'],
])('a file is a PDF by its first bytes, however they come, and is closed then: %j', async (content, code) => {
  let closed = 0;
  const open = async function* () {
    try {
      for (const letter of content) yield Buffer.from(letter);
    } finally {
      closed += 1;
    }
  };
  const looked = requirePdf({ fileName: 'a.pdf', sizeBytes: content.length, open }, 'x').then(
    () => null,
    (error: MirrorError) => error.code,
  );
  expect([await looked, closed]).toEqual([code, 1]);
});

test.each([
  ['is longer than its declared size', { sizeBytes: 20 }, 'file-changed'],
  ['is shorter than its declared size', { sizeBytes: 40 }, 'file-changed'],
])('a file that %s ends the request, and says why', async (_what, more, code) => {
  const faults: string[] = [];
  const file = { ...pieces([10, 10]), ...more };
  const { stream } = uploadOf(RULES, {}, file, { label: 'x', onFailure: (error) => void faults.push(error.code) });
  await expect(Array.fromAsync(stream)).rejects.toMatchObject({ code });
  expect(faults).toEqual([code]);
});

test('a file as large as allowed passes, one byte more does not', () => {
  const of = (sizeBytes: number) => () =>
    uploadOf(
      { ...RULES, maxBytes: 25 },
      {},
      { ...pieces([20]), sizeBytes },
      { label: 'x', onFailure: () => undefined },
    );
  expect(of(25)).not.toThrow();
  expect(of(26)).toThrow(expect.objectContaining({ code: 'file-too-large' }));
});
