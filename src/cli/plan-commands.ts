import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Progress } from '../model/progress.ts';
import { type Asked, type Print, paged, zoneOf } from './answer.ts';
import { renderKeptPlan, renderPlan } from './render-plan.ts';
import { renderSync } from './render-sync.ts';

/** What the commands need of the command line. */
export interface PlanCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  progress(): Progress & { end(): void };
  signal: AbortSignal;
  exit(code: number): void;
}

/** Adds `plan` and `apply`. */
export function addPlans(program: Command, given: PlanCommands): void {
  const { withInstallation, print, signal, exit } = given;
  paged(program.command('plan <tenant>'))
    .description('show what a cycle would write and why; writes nothing')
    .option('--save', 'keep it for an hour, so that exactly it can be applied')
    .option('--json', 'as JSON, with every line')
    .action((tenant: string, { save, ...asked }: Asked & { save?: boolean }) =>
      withInstallation(async (installation) => {
        const progress = given.progress();
        if (save === true) {
          const { keepPlan } = await import('../control/kept-plans.ts');
          const plan = await keepPlan(installation, tenant, progress, signal).finally(() => progress.end());
          return print(asked, plan, () => renderKeptPlan(plan), zoneOf(installation, tenant));
        }
        const { planTenant } = await import('../control/plan.ts');
        const plan = await planTenant(installation, tenant, progress, signal).finally(() => progress.end());
        print(asked, plan, () => renderPlan(plan), zoneOf(installation, tenant));
      }),
    );
  program
    .command('apply <tenant> <plan>')
    .description('run one cycle now, if it does exactly what a kept plan says')
    .option('--json', 'as JSON')
    .action((tenant: string, plan: string, asked: Asked) =>
      withInstallation(async (installation, acting) => {
        const [{ isWhole }, { settingsPlace }] = await Promise.all([
          import('../control/sync.ts'),
          import('../control/installation.ts'),
        ]);
        const { applyPlan } = await import('../control/acts.ts');
        const progress = given.progress();
        const signals = { stop: signal, abort: signal };
        const result = await applyPlan(acting, installation, tenant, plan, progress, signals).finally(() =>
          progress.end(),
        );
        print(
          asked,
          result,
          () => renderSync(result, settingsPlace(installation, tenant)),
          zoneOf(installation, tenant),
        );
        if (!isWhole(result)) exit(1);
      }),
    );
}
