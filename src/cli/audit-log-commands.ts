import { type Command, InvalidArgumentError } from 'commander';
import type { AuditLogLine } from '../control/audit-log.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Instant } from '../model/time.ts';
import { type Asked, type Print, wholeNumber, zoneOf } from './answer.ts';
import { renderAuditLog, renderVerdict } from './render-audit-log.ts';

/** What the commands need of the command line. */
export interface AuditLogCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  out(text: string): void;
  exit(code: number): void;
}

/** Entries that are shown unless told. */
const SHOWN = 100;

interface Choice extends Asked {
  tenant?: string;
  since?: Instant;
  verb?: string;
  record?: string;
}

/** Adds `audit-log …`. */
export function addAuditLog(program: Command, given: AuditLogCommands): void {
  const { withInstallation, print, out, exit } = given;
  const auditLog = program.command('audit-log').description('what persons did, when and why');
  filtered(auditLog.command('show', { isDefault: true }))
    .description('show what was done, oldest first')
    .option('--limit <count>', `the newest entries; else ${SHOWN}, 0 for all`, wholeNumber)
    .option('--all', 'every entry')
    .option('--json', 'as JSON, each entry')
    .action(({ limit = SHOWN, all = false, json = false, ...choice }: Choice) =>
      withInstallation(async (installation, { desk }) => {
        const lines = await linesOf(desk, choice);
        const entries = lines.flatMap(({ entry }) => entry ?? []).slice(-(all || limit === 0 ? lines.length : limit));
        const changed = lines.filter(({ entry }) => entry === null).length;
        print(
          { json },
          { entries, changed },
          () => renderAuditLog(entries, changed),
          zoneOf(installation, choice.tenant),
        );
      }),
    );
  filtered(auditLog.command('export'))
    .description('print entries as JSON lines, each with its MAC, as they stand in the log')
    .action((choice: Choice) =>
      withInstallation(async (_, { desk }) => {
        for (const { line } of await linesOf(desk, choice)) out(line);
      }),
    );
  auditLog
    .command('verify')
    .description('check that no entry was changed, moved or removed, by their MACs and by what Redis knows of the end')
    .option('--elsewhere <chain...>', 'chains that are kept in the directory of another machine')
    .option('--json', 'as JSON')
    .action(({ elsewhere = [], ...asked }: Asked & { elsewhere?: string[] }) =>
      withInstallation(async (_, { desk }) => {
        const { verifyAuditLog } = await import('../control/audit-log.ts');
        const verdict = await verifyAuditLog(desk, elsewhere);
        print(asked, { ok: verdict.faults.length === 0, ...verdict }, () => renderVerdict(verdict));
        if (verdict.faults.length > 0) exit(1);
      }),
    );
}

function filtered(command: Command): Command {
  return command
    .option('--tenant <tenant>', 'of one tenant')
    .option('--since <time>', 'from then on: a day such as 2026-11-30 (UTC), or a time of RFC 3339', instant)
    .option('--verb <verb>', 'what was done, such as forget')
    .option('--record <id>', 'of one record of that tenant, by the id that the clinic gives it');
}

async function linesOf(desk: Acting['desk'], choice: Choice): Promise<AuditLogLine[]> {
  const { readAuditLog } = await import('../control/audit-log.ts');
  const { tenant = null, verb = null, record = null, since = null } = choice;
  return Array.fromAsync(readAuditLog(desk, { tenant, verb, record, sinceAt: since }));
}

function instant(text: string): Instant {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new InvalidArgumentError('write 2026-11-30, or 2026-11-30T08:00:00Z');
  return at;
}
