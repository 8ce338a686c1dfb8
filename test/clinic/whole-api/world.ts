import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { DialectName } from '../../../sandbox/clinic/dialects/index.ts';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { ClinicApi } from '../../../src/clinic/api.ts';
import type { PdfSource } from '../../../src/clinic/http/call.ts';
import { firstTenant, type Json, logIn, NOW, readAll } from '../../sandbox/clinic/support.ts';
import { openApi } from '../open-api.ts';
import { committedProfile, unhurried } from '../open-client.ts';

/** A clinic in a dialect, the API on it under the profile of that name, and a twin with the truth. */
export interface World {
  dialect: DialectName;
  sandbox: ClinicSandbox;
  api: ClinicApi;
  tenantId: string;
  token: string;
  /** An API for another user, or with fewer scopes. */
  apiOf(person: ClinicSandbox['users']['readOnly'], scope?: string): Promise<ClinicApi>;
  /** Raw rows of a list of the same clinic in documented words, read past the client. */
  truth(path: string): Promise<Json[]>;
  /** A patient in the dialect's own clinic, with fields unknown to the profile. */
  rawPatient(id: string): Promise<Json>;
}

const OPTIONS = { tenants: 2, appointments: 150, now: NOW, seed: 7 };

/** Gives the suite a world; what it holds exists in tests and hooks only. */
export function useWorld(dialect: DialectName): World {
  const world = { dialect } as World;
  let twin: ClinicSandbox;
  beforeAll(async () => {
    const sandbox = await startClinicSandbox({ ...OPTIONS, dialect });
    twin = await startClinicSandbox(OPTIONS);
    const tenant = firstTenant(sandbox);
    const token = (await logIn(sandbox, tenant.user)).access_token;
    const twinToken = (await logIn(twin, firstTenant(twin).user)).access_token;
    const profile = committedProfile(dialect);
    Object.assign(world, {
      sandbox,
      token,
      tenantId: tenant.id,
      api: openApi(sandbox.baseUrl, profile, token),
      async apiOf(person, scope = sandbox.scopes.join(' ')) {
        return openApi(sandbox.baseUrl, profile, (await logIn(sandbox, person, { scope })).access_token);
      },
      truth: (path) => readAll(twin, twinToken, `/v2/tenants/${firstTenant(twin).id}${path}`),
      async rawPatient(id) {
        const headers = { accept: 'application/json', authorization: `Bearer ${token}` };
        const answer = await fetch(`${sandbox.baseUrl}/v2/tenants/${tenant.id}/patients/${id}`, { headers });
        const { recordPath } = profile.patients;
        const body = (await answer.json()) as Json;
        return recordPath === null ? body : (body[recordPath] as Json);
      },
    } satisfies Partial<World>);
  });
  afterEach(() => {
    world.sandbox.faults.clear();
    Object.assign(world.sandbox.rules, { deleteMode: 'hard', repeatedCheckIn: 'same', maxReportBytes: 25_000_000 });
  });
  afterAll(async () => {
    await world.sandbox.close();
    await twin.close();
  });
  return world;
}

/** The answer to the next matching request is lost after the clinic has done what it asks. */
export function loseNextAnswer({ sandbox }: World, method: string, path: string): void {
  sandbox.faults.add({ fault: { kind: 'lost-answer' }, match: { method, path }, times: 1 });
}

/** A PDF of random content. */
export function randomPdf(sizeBytes: number, fileName = 'referto.pdf'): PdfSource & { bytes: Buffer } {
  const bytes = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(sizeBytes - 9)]);
  return {
    fileName,
    sizeBytes,
    bytes,
    open: async function* () {
      for (let start = 0; start < sizeBytes; start += 65_536) yield bytes.subarray(start, start + 65_536);
    },
  };
}

/** The bytes of a download. */
export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

export const signal = unhurried();

/** A decimal in hundredths, to compare different notations of clinics. */
export function cents(decimal: unknown): number | null {
  return decimal === null || decimal === undefined ? null : Math.round(Number(decimal) * 100);
}
