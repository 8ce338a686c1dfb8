import { Argument, type Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { AddressKind } from '../model/reminders.ts';
import { type Asked, type Print, paged, wholeNumber, zoneOf } from './answer.ts';
import { renderReminderExplanation, renderReminders } from './render-reminders.ts';

/** What the commands on reminders need of the command line. */
export interface ReminderCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  /** What stands on standard input. */
  read(): Promise<string>;
  signal: AbortSignal;
}

/** Settled reminders that are shown unless told. */
const SHOWN = 50;
const KINDS: readonly AddressKind[] = ['phone', 'email'];

/** Adds `reminders …`. */
export function addReminders(program: Command, given: ReminderCommands): void {
  const { withInstallation, print, signal } = given;
  const reminders = program.command('reminders').description('what patients are reminded of, and why or why not');
  paged(reminders.command('upcoming <tenant>'))
    .description('show what is planned; with --day what is due on a day, from the clinic as it is now')
    .option('--day [date]', 'tomorrow, or a local day such as 2026-11-30')
    .option('--json', 'as JSON')
    .action((tenant: string, { day, ...asked }: Asked & { day?: string | true }) =>
      withInstallation(async (installation) => {
        const { previewDay, upcomingReminders } = await import('../control/reminders.ts');
        const list =
          day === undefined
            ? await upcomingReminders(installation, tenant)
            : await previewDay(installation, tenant, day === true ? null : day, signal);
        print(asked, list, () => renderReminders(list, 'Nothing is planned.'));
      }),
    );
  reminders
    .command('sent <tenant>')
    .description('show what was sent, dropped or may have been sent, newest first')
    .option('--limit <count>', `how many; else ${SHOWN}`, wholeNumber)
    .option('--all', 'all that are kept')
    .option('--json', 'as JSON')
    .action((tenant: string, { limit = SHOWN, all = false, json = false }: Asked) =>
      withInstallation(async (installation) => {
        const { settledReminders } = await import('../control/reminders.ts');
        const list = await settledReminders(installation, tenant, all ? Number.MAX_SAFE_INTEGER : limit || SHOWN);
        print({ json, all: true }, list, () => renderReminders(list, 'Nothing was sent or dropped yet.'));
      }),
    );
  reminders
    .command('explain <tenant> <appointment>')
    .description('tell the story of the reminders of one appointment')
    .option('--json', 'as JSON')
    .action((tenant: string, appointment: string, asked: Asked) =>
      withInstallation(async (installation) => {
        const { explainReminders } = await import('../control/reminders.ts');
        const view = await explainReminders(installation, tenant, appointment, signal);
        print(asked, view, () => renderReminderExplanation(view), zoneOf(installation, tenant));
      }),
    );
  addUpkeep(reminders, given);
}

function addUpkeep(reminders: Command, { withInstallation, print, read }: ReminderCommands): void {
  reminders
    .command('opt-out <tenant>')
    .addArgument(new Argument('<kind>', 'what kind of address').choices(KINDS))
    .description('never remind at an address again; it is read from standard input')
    .option('--lift', 'take the address out of the opt-outs')
    .option('--json', 'as JSON')
    .action((tenant: string, kind: AddressKind, { lift = false, ...asked }: Asked & { lift?: boolean }) =>
      withInstallation(async (installation, acting) => {
        const { optOut } = await import('../control/acts.ts');
        const address = (await read()).trim();
        const { changed } = await optOut(acting, installation, tenant, { kind, address, lift });
        const done = lift ? 'The opt-out is lifted.' : 'The address is opted out.';
        print(asked, { tenant, kind, lift, changed }, () => (changed ? done : 'It was so already.'));
      }),
    );
  reminders
    .command('reopen <tenant> <channel>')
    .description('use a channel again that was closed because the other side was gone')
    .option('--json', 'as JSON')
    .action((tenant: string, channel: string, asked: Asked) =>
      withInstallation(async (installation, acting) => {
        const { reopenChannel } = await import('../control/acts.ts');
        const { changed } = await reopenChannel(acting, installation, tenant, channel);
        print(
          asked,
          { tenant, channel, changed },
          () => `The channel ${channel} ${changed ? 'is used again' : 'was not closed'}.`,
        );
      }),
    );
}
