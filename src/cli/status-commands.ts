import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import { type Asked, type Print, paged, zoneOf } from './answer.ts';
import { renderExplanation } from './render-explain.ts';
import { renderStatus } from './render-status.ts';

/** What the commands need of the command line. */
export interface StatusCommands {
  /** @param wanted.only the one tenant that is looked at; all when undefined */
  withInstallation(
    wanted: { only: string | undefined; tellsRefused: boolean },
    work: (installation: Installation) => Promise<void>,
  ): Promise<void>;
  print: Print;
  signal: AbortSignal;
  exit(code: number): void;
}

/** Adds `status`, which exits with 1 when only problems are asked for and a person is needed, and `explain`. */
export function addStatus(program: Command, { withInstallation, print, signal, exit }: StatusCommands): void {
  paged(program.command('status [tenant]'))
    .description('show what needs you, and per clinic, or target of one, what is in sync as of when')
    .option('--problems', 'only what is the matter; ends with 1 when something needs a person')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { problems = false, ...asked }: Asked & { problems?: boolean }) =>
      withInstallation({ only: tenant, tellsRefused: true }, async (installation) => {
        const { status } = await import('../control/status.ts');
        const view = await status(installation, tenant);
        const value = problems ? { at: view.at, problems: view.problems } : view;
        print(asked, value, () => renderStatus(view, { problemsOnly: problems }), zoneOf(installation, tenant));
        if (problems && view.problems.some(({ needs }) => needs === 'person')) exit(1);
      }),
    );

  program
    .command('explain <tenant> <appointment>')
    .description('tell why an appointment is, or is not, in each target')
    .option('--json', 'as JSON')
    .action((tenant: string, appointment: string, asked: Asked) =>
      withInstallation({ only: undefined, tellsRefused: false }, async (installation) => {
        const { explain } = await import('../control/explain.ts');
        const view = await explain(installation, tenant, appointment, signal);
        print(asked, view, () => renderExplanation(view), zoneOf(installation, tenant));
      }),
    );
}
