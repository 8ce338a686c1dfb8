import type { Command } from 'commander';
import type { FeedView } from '../control/feeds.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Asked, Print } from './answer.ts';
import { renderTable, renderTime } from './table.ts';

/** What the commands on feeds need of the command line. */
export interface FeedCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(
    work: (open: { installation: Installation; acting: Acting; publicUrl: string | null }) => Promise<void>,
  ): Promise<void>;
  print: Print;
}

/** Adds `feeds …`; without a verb it lists. */
export function addFeeds(program: Command, { withInstallation, print }: FeedCommands): void {
  const feeds = program.command('feeds').description('calendars that others fetch: their addresses, and who fetched');
  feeds
    .command('list [tenant]', { isDefault: true })
    .description('show which feeds have an address, and when they were last fetched')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, asked: Asked) =>
      withInstallation(async ({ installation }) => {
        const { listFeeds } = await import('../control/feeds.ts');
        const views = await listFeeds(installation, tenant);
        print(asked, views, () => renderFeeds(views));
      }),
    );
  feeds
    .command('rotate <tenant> <target>')
    .description('make a new address, shown this once; the one before ends')
    .option('--json', 'as JSON')
    .action((tenant: string, target: string, asked: Asked) =>
      withInstallation(async ({ installation, acting, publicUrl }) => {
        const { rotateFeed } = await import('../control/acts.ts');
        const made = await rotateFeed(acting, installation, tenant, target, publicUrl);
        const before = made.hadOne ? 'The address of before has ended.' : 'Whoever has it reads the calendar.';
        print(asked, made, () => `${made.url}\n\n${before} It is shown this once, and kept nowhere.`);
      }),
    );
  feeds
    .command('withdraw <tenant> <target>')
    .description("end a feed's address: whoever has it gets nothing more")
    .option('--json', 'as JSON')
    .action((tenant: string, target: string, asked: Asked) =>
      withInstallation(async ({ installation, acting }) => {
        const { withdrawFeed } = await import('../control/acts.ts');
        const ended = await withdrawFeed(acting, installation, tenant, target);
        const what = ended.hadOne ? 'ended. What calendars have fetched stays with them.' : 'had no address.';
        print(asked, ended, () => `The feed ${target} ${what}`);
      }),
    );
}

function renderFeeds(views: readonly FeedView[]): string {
  if (views.length === 0) return 'No target is a feed: add one with connector: feed (docs/feeds.md).';
  const columns = ['tenant', 'target', 'address made', 'last fetched'].map((heading) => ({ heading }));
  const rows = views.map(({ tenant, target, access }) => [
    tenant,
    target,
    access === null ? 'none' : renderTime(access.madeAt),
    access === null ? '' : renderTime(access.fetchedAt),
    String(access?.fetches ?? 0),
  ]);
  return renderTable([...columns, { heading: 'fetches', right: true }], rows);
}
