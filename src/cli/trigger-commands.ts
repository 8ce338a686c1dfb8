import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Progress } from '../model/progress.ts';
import { type Asked, type Print, zoneOf } from './answer.ts';
import { renderTriggers } from './render-triggers.ts';

/** What the commands on triggers need of the command line. */
export interface TriggerCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  progress(): Progress & { end(): void };
  signal: AbortSignal;
}

/** Adds `triggers …`; without a verb it shows. */
export function addTriggers(program: Command, { withInstallation, print, progress, signal }: TriggerCommands): void {
  const triggers = program
    .command('triggers')
    .description('what receivers are told of reports, invoices and appointments');
  triggers
    .command('show <tenant>', { isDefault: true })
    .description('show endpoints and events: what was sent, what waits and fails, and when it is tried next')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      withInstallation(async (installation) => {
        const { listTriggers } = await import('../control/triggers.ts');
        const list = await listTriggers(installation, tenant);
        print(asked, list, () => renderTriggers(list), zoneOf(installation, tenant));
      }),
    );
  triggers
    .command('reopen <tenant> <endpoint>')
    .description('use an endpoint again that was closed, and try at once what waits for it')
    .option('--skip', 'never send what is there by now')
    .option('--json', 'as JSON')
    .action((tenant: string, endpoint: string, { skip = false, ...asked }: Asked & { skip?: boolean }) =>
      withInstallation(async (installation, acting) => {
        const { reopenEndpoint } = await import('../control/acts.ts');
        const told = progress();
        const { closed } = await reopenEndpoint(acting, installation, tenant, endpoint, { skip }, told, signal).finally(
          () => told.end(),
        );
        const was = closed === null ? 'was not closed' : 'is used again';
        const next = skip ? 'What is there by now is not sent.' : 'What waits for it is tried now.';
        print(asked, { tenant, endpoint, closed, skip }, () => `The endpoint ${endpoint} ${was}. ${next}`);
      }),
    );
}
