import type { Command } from 'commander';
import type { Asked, Print } from './answer.ts';
import { askAll, type DoctorCommand } from './doctor-command.ts';

/** What the command needs of the command line. */
export interface ConfigCommand extends DoctorCommand {
  /** Checks the configuration; without faults it can be used. */
  check(): Promise<{ faults: readonly object[]; warnings: readonly object[]; text: string }>;
  print: Print;
}

/** Adds `config check`, which ends with 2 when files have faults, and with 1 when what they name does not answer. */
export function addConfig(program: Command, options: ConfigCommand): void {
  program
    .command('config')
    .description('look after the configuration')
    .command('check')
    .description('check every file and name all faults at once')
    .option(
      '--live [tenant]',
      'then ask what doctor asks: Redis, clinics, targets, and ids of the files; of one tenant or all',
    )
    .option('--json', 'as JSON')
    .action(async ({ live = false, ...asked }: Asked & { live?: string | boolean }) => {
      const { faults, warnings, text } = await options.check();
      const ok = faults.length === 0;
      if (!ok) options.exit(2);
      if (!ok || live === false) return options.print(asked, { ok, faults, warnings }, () => text);
      if (asked.json !== true) options.out(`${text}\n`);
      const findings = await askAll(options, live === true ? undefined : live, asked.json === true);
      const isWell = findings.every(({ result }) => result !== 'problem');
      if (asked.json === true) options.print(asked, { ok: isWell, faults, warnings, findings }, () => '');
    });
}
