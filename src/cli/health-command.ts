import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Progress } from '../model/progress.ts';
import { type Asked, type Print, paged, zoneOf } from './answer.ts';
import { renderDuplicates } from './render-duplicates.ts';
import { renderHealth } from './render-health.ts';

/** What the command needs of the command line. */
export interface HealthCommand {
  withInstallation(work: (installation: Installation) => Promise<void>): Promise<void>;
  print: Print;
  progress(): Progress & { end(): void };
  signal: AbortSignal;
  exit(code: number): void;
}

/** Adds `health`, which exits with 1 when something fails, and `duplicates`. */
export function addHealth(program: Command, { withInstallation, print, progress, signal, exit }: HealthCommand): void {
  paged(program.command('health <tenant> [target]'))
    .description('list per target what is in sync, excluded and why, and failing since when; reads the clinic')
    .option('--json', 'as JSON, with every record')
    .action((tenant: string, target: string | undefined, asked: Asked) =>
      withInstallation(async (installation) => {
        const { tenantHealth } = await import('../control/health.ts');
        const shown = progress();
        const view = await tenantHealth(installation, tenant, { target, progress: shown }, signal).finally(() =>
          shown.end(),
        );
        print(asked, view, () => renderHealth(view), zoneOf(installation, tenant));
        if (view.targets.some(({ failing }) => failing.length > 0)) exit(1);
      }),
    );
  paged(program.command('duplicates <tenant> [target]'))
    .description(
      'list contacts that seem to be there twice: copies, alike, or without an address that another has; reads the clinic and the contacts',
    )
    .option('--json', 'as JSON')
    .action((tenant: string, target: string | undefined, asked: Asked) =>
      withInstallation(async (installation) => {
        const { tenantDuplicates } = await import('../control/duplicates.ts');
        const shown = progress();
        const view = await tenantDuplicates(installation, tenant, { target, progress: shown }, signal).finally(() =>
          shown.end(),
        );
        print(asked, view, () => renderDuplicates(view), zoneOf(installation, tenant));
      }),
    );
}
