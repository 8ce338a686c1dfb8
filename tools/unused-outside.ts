import { Readable } from 'node:stream';
import { clinicProfileSchema } from '../src/clinic/schema/profile.ts';
import type { CliOutside } from '../src/operator/cli/outside.ts';

/** Dependencies of a command line whose commands are only inspected: no command can run. */
export function unusedOutside(): CliOutside {
  const refuse = () => Promise.reject(new Error('no command is carried out here'));
  return {
    env: {},
    withInstallation: refuse,
    run: refuse,
    serveMcp: refuse,
    setup: { initialise: refuse, checkSpec: refuse, probe: refuse },
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
