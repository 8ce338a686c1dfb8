import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import { type Asked, type Print, paged, zoneOf } from './answer.ts';
import { renderHolds } from './render-explain.ts';

/** What the commands need of the command line. */
export interface HoldCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  /** A file's text. */
  read(file: string | undefined): Promise<string>;
  print: Print;
}

/** Adds `holds …`. */
export function addHolds(program: Command, { withInstallation, read, print }: HoldCommands): void {
  const holds = program.command('holds').description('decide deletions that were held back');
  paged(holds.command('list [tenant]'))
    .description('show holds, open ones first')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, asked: Asked) =>
      withInstallation(async (installation) => {
        const { listHolds } = await import('../control/holds.ts');
        const list = await listHolds(installation, tenant);
        print(asked, { holds: list }, () => renderHolds(list), zoneOf(installation, tenant));
      }),
    );
  for (const [verb, decision, what] of [
    ['approve', 'approved', 'let the deletions go'],
    ['reject', 'rejected', 'keep the objects'],
  ] as const) {
    holds
      .command(`${verb} <tenant> <hold>`)
      .description(what)
      .option('--seen <code>', 'only if it still is what you saw: the code that the list has for it')
      .option('--only <file>', 'only the items whose ids stand in this file, one a line; the others go on waiting')
      .option('--json', 'as JSON')
      .action((tenant: string, id: string, { seen, only, ...asked }: Asked & { seen?: string; only?: string }) =>
        withInstallation(async (installation, acting) => {
          const { decideHold } = await import('../control/acts.ts');
          const choice = { seen: seen ?? null, only: only === undefined ? null : idsIn(await read(only)) };
          const { hold } = await decideHold(acting, installation, tenant, id, decision, choice);
          const next =
            decision === 'approved' ? ` They go with the next cycle (now: clinic-mirror sync ${tenant}).` : '';
          const rest = hold.partOf === undefined ? '' : ` The others go on waiting as hold ${hold.partOf}.`;
          print(
            asked,
            { tenant, hold },
            () => `Hold ${hold.id} of ${hold.target} is ${decision}: ${hold.recordIds.length} items.${next}${rest}`,
          );
        }),
      );
  }
}

/** Ids, one a line; empty lines are none. */
function idsIn(text: string): Set<string> {
  return new Set(text.split('\n').flatMap((line) => line.trim() || []));
}
