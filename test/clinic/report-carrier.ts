import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pdfFile } from '../../src/clinic/http/call.ts';
import { asMirrorError } from '../../src/core/model/errors.ts';
import { openApi } from './open-api.ts';
import { profileOf, unhurried } from './open-client.ts';

/** The carrier's task, as JSON in the first argument. */
export interface CarrierTask {
  baseUrl: string;
  token: string;
  tenantId: string;
  patientId: string;
  style: 'multipart' | 'base64';
  sizeBytes: number;
}

/** Result of one direction: the highest memory use above the starting value, in bytes. */
export interface Carried {
  bytes: number;
  /** Of buffers that are held, which a file that is whole in memory would be in. */
  buffersPeak: number;
  /** Of the whole process. */
  residentPeak: number;
}

/** Memory of a report uploaded and downloaded, or the code of the refusal. */
export type CarrierResult = { up: Carried; down: Carried } | { code: string };

/** Passes chunks on and measures the memory meanwhile. */
type Watch = (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Sends a report from a file and fetches it again, measuring its own memory; prints the result as JSON. */
async function carry({ style, sizeBytes, ...task }: CarrierTask): Promise<CarrierResult> {
  const profile = profileOf({ medicalReports: { upload: { style } } });
  const api = openApi(task.baseUrl, profile, task.token);
  const values = { patientId: task.patientId, title: `Large ${style}`, reportDate: '2026-03-20' };
  const path = join(tmpdir(), `report-${process.pid}.pdf`);
  const save = (size: number) => writeFileSync(path, Buffer.alloc(size, '%PDF-1.7 '));
  const create = async (watch: Watch = (chunks) => chunks) => {
    const file = await pdfFile(path, 'large.pdf');
    return api.medicalReports.create(task.tenantId, values, { ...file, open: () => watch(file.open()) }, unhurried());
  };
  try {
    // A small report first loads code and connections before the measurement.
    save(100_000);
    await create();
    save(sizeBytes);
    const up = await measured(async (watch) => {
      const made = await create(watch);
      return made.fileSizeBytes ?? 0;
    });
    const down = await measured(async (watch) => {
      let [bytes, id] = [0, ''];
      for await (const { records } of api.medicalReports.list(task.tenantId, [], unhurried())) {
        id = records.find((record) => record.fileSizeBytes === sizeBytes && record.title === values.title)?.id ?? id;
      }
      const pdf = await api.medicalReports.pdf(task.tenantId, id, unhurried());
      for await (const chunk of watch(pdf?.chunks ?? ([] as never))) bytes += chunk.length;
      return bytes;
    });
    return { up, down };
  } catch (error) {
    return { code: asMirrorError(error).code };
  } finally {
    await rm(path);
  }
}

/** Bytes between two measurements. */
const LOOK_BYTES = 2_500_000;

/** Measures memory during a transfer, after a garbage collection: unreferenced memory is not needed by the file. */
async function measured(work: (watch: Watch) => Promise<number>): Promise<Carried> {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const peak = { ...before };
  let [seen, lookedAt] = [0, 0];
  async function* watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      seen += chunk.length;
      if (seen - lookedAt >= LOOK_BYTES) {
        lookedAt = seen;
        peak.rss = Math.max(peak.rss, process.memoryUsage.rss());
        globalThis.gc?.();
        peak.arrayBuffers = Math.max(peak.arrayBuffers, process.memoryUsage().arrayBuffers);
      }
      yield chunk;
    }
  }
  const bytes = await work(watch);
  return { bytes, buffersPeak: peak.arrayBuffers - before.arrayBuffers, residentPeak: peak.rss - before.rss };
}

if (import.meta.main) {
  process.stdout.write(JSON.stringify(await carry(JSON.parse(process.argv[2] ?? '{}') as CarrierTask)));
}
