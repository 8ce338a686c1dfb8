import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { z } from 'zod';
import type { ClinicContext } from '../../src/clinic/http/call.ts';
import { compileAppointmentRows } from '../../src/clinic/read/appointment-rows.ts';
import { createReadingCalls } from '../../src/clinic/read/reading-calls.ts';
import { type AppointmentQuery, readSnapshot } from '../../src/clinic/read/snapshot.ts';
import { createAccountCalls } from '../../src/clinic/read/users.ts';
import { type ClinicProfile, CompiledProfile, clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';

export type WrittenProfile = z.input<typeof clinicProfileSchema>;

/** A profile with its waits made short. */
export function profileOf(written: WrittenProfile = {}): ClinicProfile {
  return clinicProfileSchema.parse({ ...written, limits: { firstWaitMs: 1, ...written.limits } });
}

/** A profile of config/profiles, with its waits made short. */
export function committedProfile(name: string): ClinicProfile {
  let written = committed.get(name);
  if (written === undefined) {
    const file = new URL(`../../config/profiles/${name}.yaml`, import.meta.url);
    written = parse(readFileSync(file, 'utf8')) as WrittenProfile;
    committed.set(name, written);
  }
  return profileOf(written);
}

/** Contents of profiles by name: each takes tens of milliseconds to read. */
const committed = new Map<string, WrittenProfile>();

/** What the daemon reads, in any tenant: its source finds the tenant first. */
export function readingsOf(context: ClinicContext) {
  const { read } = createReadingCalls(context, 'appointments', context.compiled.of(compileAppointmentRows));
  return {
    ...createAccountCalls(context),
    agendas: createReadingCalls(context, 'agendas'),
    patients: createReadingCalls(context, 'patients'),
    readAppointment: read,
    readAppointments: (tenantId: string, query: AppointmentQuery, signal: AbortSignal) =>
      readSnapshot(context, { ...query, tenantId, signal }),
  };
}

/** Readings from a server of the test; `renewed` counts how often the token was renewed. */
export function openClient(baseUrl: string, profile: ClinicProfile, more: Partial<ClinicContext> = {}) {
  const tokens = { current: 'token-1', renewed: 0 };
  const context: ClinicContext = {
    profile,
    profileFile: 'profiles/test.yaml',
    compiled: new CompiledProfile(profile),
    pagings: new Map(),
    baseUrl,
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
    budget: null,
    authorization: {
      header: async () => `Bearer ${tokens.current}`,
      renew: async () => {
        tokens.renewed += 1;
        tokens.current = `token-${tokens.renewed + 1}`;
        return `Bearer ${tokens.current}`;
      },
    },
    clock: Date.now,
    log: silentLogger,
    ...more,
  };
  return { client: readingsOf(context), context, tokens };
}

/** A signal that never aborts. */
export function unhurried(): AbortSignal {
  return new AbortController().signal;
}

/** The MirrorError that a call throws. */
export async function failureOf(call: Promise<unknown>): Promise<MirrorError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof MirrorError) return error;
  throw new Error('expected the call to throw a MirrorError', { cause: error });
}
