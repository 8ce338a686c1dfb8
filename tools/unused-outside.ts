import { Readable } from 'node:stream';
import type { CliOutside } from '../src/cli/outside.ts';
import { clinicProfileSchema } from '../src/clinic/schema/profile.ts';

/** What the command line is built with to look at its commands alone: none of them can be carried out. */
export function unusedOutside(): CliOutside {
  const refuse = () => Promise.reject(new Error('no command is carried out here'));
  return {
    env: {},
    withInstallation: refuse,
    run: refuse,
    serveMcp: refuse,
    checkConfiguration: async () => ({ faults: [], warnings: [], text: '' }),
    signal: AbortSignal.abort(),
    profile: async () => clinicProfileSchema.parse({}),
    names: async () => ({ tenants: () => [], targets: () => [], connections: () => [] }),
    read: refuse,
    lines: () => Readable.from([]),
    write: refuse,
    out: () => {},
    err: () => {},
    progress: () => Object.assign(() => {}, { end: () => {} }),
    exit: () => {},
  };
}
