import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Progress } from '../model/progress.ts';
import { type Asked, type Print, paged, zoneOf } from './answer.ts';
import { renderForgetPreview, renderReceipt, renderReceipts } from './render-forget.ts';

/** What the command needs of the command line. */
export interface ForgetCommand {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  progress(): Progress & { end(): void };
  signal: AbortSignal;
  exit(code: number): void;
}

/** Options of the command. */
interface Choice extends Asked {
  dryRun?: boolean;
  yes?: boolean;
  undo?: boolean;
}

/** Adds `forget`. The patient's id is never printed: neither by an answer nor by an error. */
export function addForget(program: Command, given: ForgetCommand): void {
  program
    .command('forget <tenant> <patient>')
    .description('take a patient out of every target and keep them out; shows what would go unless --yes')
    .option('--dry-run', 'only show what would go')
    .option('--yes', 'do it')
    .option('--undo', 'follow the patient again')
    .option('--json', 'as JSON')
    .action((tenant: string, patient: string, choice: Choice) =>
      given.withInstallation((installation, acting) => forget(installation, acting, tenant, patient, choice, given)),
    );
  paged(program.command('receipts <tenant>'))
    .description('list the receipts of what was forgotten: numbers alone, oldest first')
    .option('--json', 'as JSON, each whole')
    .action((tenant: string, asked: Asked) =>
      given.withInstallation(async (installation) => {
        const { listReceipts } = await import('../control/forget.ts');
        const receipts = await listReceipts(installation, tenant);
        given.print(asked, { receipts }, () => renderReceipts(receipts), zoneOf(installation, tenant));
      }),
    );
}

async function forget(
  installation: Installation,
  acting: Acting,
  tenant: string,
  patient: string,
  { dryRun, yes, undo, ...asked }: Choice,
  { print, signal, ...given }: ForgetCommand,
): Promise<void> {
  const { previewForgetting } = await import('../control/forget.ts');
  const { followAgain, forgetPatient } = await import('../control/acts.ts');
  if (undo === true) {
    const result = await followAgain(acting, installation, tenant, patient);
    const says = result.changed ? 'The patient is followed again.' : 'There was no tombstone.';
    return print(asked, result, () => says);
  }
  const progress = given.progress();
  if (yes !== true || dryRun === true) {
    const preview = await previewForgetting(installation, tenant, patient, progress, signal).finally(() =>
      progress.end(),
    );
    return print(asked, preview, () => renderForgetPreview(preview));
  }
  const signals = { stop: signal, abort: signal };
  const receipt = await forgetPatient(acting, installation, tenant, patient, progress, signals).finally(() =>
    progress.end(),
  );
  print(asked, receipt, () => renderReceipt(receipt), zoneOf(installation, tenant));
  if (receipt.notes.includes('erasures-wait')) given.exit(1);
}
