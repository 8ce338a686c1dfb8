import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectors } from '../../src/connectors/registry.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { changesBetween } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';

/** What a running process takes of a processor to follow its files, in seconds. */
export interface ReloadCosts {
  /** A check without a change. */
  look: number;
  /** One tenant's file changed and was applied. */
  changed: number;
  /** The same, with every file's bytes read, as after SIGHUP. */
  sure: number;
}

const TIMES = 5;

/** Measures what a changed file costs among those in a configuration directory; the least of five times. */
export function measureReload(dir: string, env: NodeJS.ProcessEnv): ReloadCosts {
  const files = new ConfigurationFiles({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  const taking = (work: () => void): number => {
    const { user, system } = process.cpuUsage();
    work();
    const taken = process.cpuUsage({ user, system });
    return (taken.user + taken.system) / 1_000_000;
  };
  const least = (work: () => number) => Math.min(...Array.from({ length: TIMES }, work));
  const change = (sure: boolean) => {
    appendFileSync(join(dir, 'tenants', 'clinic-1.yaml'), '# changed\n');
    const before = files.configuration;
    return taking(() => {
      const { reopened } = changesBetween(before, atOnce(files.readAgain(atOnce(files.readStamps()), { sure })));
      if (reopened.length !== 1) throw new Error(`${reopened.length} tenants were read again`);
    });
  };
  return {
    look: least(() => taking(() => void atOnce(files.readStamps()))),
    changed: least(() => change(false)),
    sure: least(() => change(true)),
  };
}
