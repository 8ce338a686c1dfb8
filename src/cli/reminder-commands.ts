import { Argument, type Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { AddressKind } from '../model/reminders.ts';
import { renderReminderExplanation, renderReminders } from './render-reminders.ts';

/** What the commands on reminders need of the command line. */
export interface ReminderCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print(json: boolean | undefined, value: object, text: string): void;
  out(text: string): void;
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
  reminders
    .command('upcoming <tenant>')
    .description('show what is planned; with --day what is due on a day, from the clinic as it is now')
    .option('--day [date]', 'tomorrow, or a local day such as 2026-11-30')
    .option('--json', 'as JSON')
    .action((tenant: string, { day, json }: { day?: string | true; json?: boolean }) =>
      withInstallation(async (installation) => {
        const { previewDay, upcomingReminders } = await import('../control/reminders.ts');
        const list =
          day === undefined
            ? await upcomingReminders(installation, tenant)
            : await previewDay(installation, tenant, day === true ? null : day, signal);
        print(json, list, renderReminders(list, 'Nothing is planned.'));
      }),
    );
  reminders
    .command('sent <tenant>')
    .description('show what was sent, dropped or may have been sent, newest first')
    .option('--limit <count>', `how many; else ${SHOWN}`, Number)
    .option('--json', 'as JSON')
    .action((tenant: string, { limit, json }: { limit?: number; json?: boolean }) =>
      withInstallation(async (installation) => {
        const { settledReminders } = await import('../control/reminders.ts');
        const list = await settledReminders(installation, tenant, limit !== undefined && limit >= 1 ? limit : SHOWN);
        print(json, list, renderReminders(list, 'Nothing was sent or dropped yet.'));
      }),
    );
  reminders
    .command('explain <tenant> <appointment>')
    .description('tell the story of the reminders of one appointment')
    .option('--json', 'as JSON')
    .action((tenant: string, appointment: string, { json }: { json?: boolean }) =>
      withInstallation(async (installation) => {
        const { explainReminders } = await import('../control/reminders.ts');
        const view = await explainReminders(installation, tenant, appointment, signal);
        print(json, view, renderReminderExplanation(view));
      }),
    );
  addUpkeep(reminders, given);
}

function addUpkeep(reminders: Command, { withInstallation, out, read }: ReminderCommands): void {
  reminders
    .command('opt-out <tenant>')
    .addArgument(new Argument('<kind>', 'what kind of address').choices(KINDS))
    .description('never remind at an address again; it is read from standard input')
    .option('--lift', 'forget that the address was opted out')
    .action((tenant: string, kind: AddressKind, { lift }: { lift?: boolean }) =>
      withInstallation(async (installation, acting) => {
        const { optOut } = await import('../control/acts.ts');
        const address = (await read()).trim();
        const { changed } = await optOut(acting, installation, tenant, { kind, address, lift: lift === true });
        out(changed ? (lift === true ? 'The opt-out is lifted.' : 'The address is opted out.') : 'It was so already.');
      }),
    );
  reminders
    .command('reopen <tenant> <channel>')
    .description('use a channel again that was closed because the other side was gone')
    .action((tenant: string, channel: string) =>
      withInstallation(async (installation, acting) => {
        const { reopenChannel } = await import('../control/acts.ts');
        const { changed } = await reopenChannel(acting, installation, tenant, channel);
        out(changed ? `The channel ${channel} is used again.` : `The channel ${channel} was not closed.`);
      }),
    );
}
