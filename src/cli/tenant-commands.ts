import { type Command, InvalidArgumentError } from 'commander';
import type { ConfigurationDesk, TenantChanged, TenantDocument, TenantSource } from '../control/managed-tenants.ts';
import type { Acting } from '../control/recording.ts';
import { MirrorError } from '../model/errors.ts';
import { NAME, NAME_REMEDY } from '../model/names.ts';
import { type ConfigurationFault, renderFaults } from '../settings/faults.ts';
import { type Asked, type Print, paged } from './answer.ts';
import { renderTable, wrap } from './table.ts';

/** What the commands on tenants need of the command line. */
export interface TenantCommands {
  /** Opens the installation, does the work, closes it again. */
  withConfigurations(work: (desk: ConfigurationDesk, acting: Acting) => Promise<void>): Promise<void>;
  /** A file's text, or that of standard input. */
  read(file: string | undefined): Promise<string>;
  print: Print;
  out(text: string): void;
  err(text: string): void;
  exit(code: number): void;
}

/** Names the revision that a document was read with, so that a change of it replaces no other. */
const REVISION_LINE = /^# revision ([\w-]{22})\n/;
const EVERY_TENANT = { after: null, limit: Number.MAX_SAFE_INTEGER };

/** Adds `tenants …`; without a verb it lists. */
export function addTenants(program: Command, given: TenantCommands): void {
  const tenants = program
    .command('tenants')
    .description('where tenants are configured, and those that no file configures');
  addLooks(tenants, given);
  addChanges(tenants, given);
  addAcceptance(tenants, given);
}

function addLooks(tenants: Command, { withConfigurations, read, print, out, err, exit }: TenantCommands): void {
  paged(tenants.command('list', { isDefault: true }))
    .description('show where each tenant is configured')
    .option('--json', 'as JSON')
    .action((asked: Asked) =>
      withConfigurations(async (desk) => {
        const { listSources } = await import('../control/managed-tenants.ts');
        const { items } = await listSources(desk, () => true, EVERY_TENANT);
        print(asked, { tenants: items }, () => renderSources(items));
      }),
    );
  tenants
    .command('show <tenant>')
    .description('show how a tenant is configured, and what is wrong with it')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      withConfigurations(async (desk) => {
        const { readDocument } = await import('../control/managed-tenants.ts');
        const document = await readDocument(desk, tenant, () => true);
        print(asked, document, () => renderDocument(document));
      }),
    );
  tenants
    .command('export <tenant>')
    .description('print how a tenant is configured, to be changed and given to replace, or added elsewhere')
    .option('--for-file', 'as a file in tenants/ holds it: with variables for what is kept sealed')
    .action((tenant: string, { forFile = false }: { forFile?: boolean }) =>
      withConfigurations(async (desk) => {
        const { documentForFile, readDocument } = await import('../control/managed-tenants.ts');
        const document = await readDocument(desk, tenant, () => true);
        const { file, yaml, variables } = documentForFile(document);
        if (forFile && variables.length > 0) err(`Set before ${file} is read: ${variables.join(', ')}.\n`);
        const head = document.revision === null ? '' : `# revision ${document.revision}\n`;
        out((forFile ? yaml : `${head}${document.yaml}`).trimEnd());
      }),
    );
  tenants
    .command('check')
    .argument('<tenant>', 'its id', idOf)
    .argument('[file]', 'its document; else standard input')
    .description('name all faults that a managed tenant would have; nothing is kept')
    .option('--secrets <file>', SECRETS_HELP)
    .option('--json', 'as JSON')
    .action((tenant: string, file: string | undefined, { secrets, ...asked }: Asked & { secrets?: string }) =>
      withConfigurations(async (desk) => {
        const { checkDocument } = await import('../control/managed-tenants.ts');
        const faults = await checkDocument(desk, tenant, await documentIn(read, file, secrets));
        print(asked, { ok: faults.length === 0, faults }, () => renderCheck(faults));
        if (faults.length > 0) exit(2);
      }),
    );
}

const SECRETS_HELP = 'YAML with the values of its { sealed: NAME }, by name; those that are not given stay';

/** Accepts, beside what changes documents. */
function addAcceptance(tenants: Command, { withConfigurations, print }: TenantCommands): void {
  tenants
    .command('accept [tenant]')
    .description('have a managed tenant that is record-forged count as Redis has it, after you restored an older Redis')
    .option('--all', 'every one that is record-forged, one after the other')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { all = false, ...asked }: Asked & { all?: boolean }) =>
      withConfigurations(async (desk, acting) => {
        const { forgedTenants } = await import('../control/managed-tenants.ts');
        const { acceptTenant } = await import('../control/tenant-acts.ts');
        const forged = (await forgedTenants(desk)).filter((each) => all || each.tenant === tenant);
        const accepted: TenantChanged[] = [];
        for (const each of forged) accepted.push(await acceptTenant(acting, desk, each.tenant, each.revision));
        print(asked, { accepted }, () => renderAccepted(accepted));
      }),
    );
}

function addChanges(tenants: Command, { withConfigurations, read, print }: TenantCommands): void {
  tenants
    .command('add')
    .argument('<tenant>', 'its id', idOf)
    .argument('[file]', 'its document; else standard input')
    .description('add a managed tenant, as a file or an export has it')
    .option('--secrets <file>', SECRETS_HELP)
    .option('--json', 'as JSON')
    .action((tenant: string, file: string | undefined, { secrets, ...asked }: Asked & { secrets?: string }) =>
      withConfigurations(async (desk, acting) => {
        const { addTenant } = await import('../control/tenant-acts.ts');
        const changed = await addTenant(acting, desk, tenant, await documentIn(read, file, secrets));
        print(
          asked,
          changed,
          () => `The tenant ${tenant} is added. Log in for it: clinic-mirror login ${tenant} clinic`,
        );
      }),
    );
  tenants
    .command('replace <tenant> [file]')
    .description('configure a managed tenant as a file says, or standard input: an export that was changed')
    .option('--revision <revision>', 'the one that is replaced; else the one in the first line of an export')
    .option('--secrets <file>', SECRETS_HELP)
    .option('--json', 'as JSON')
    .action((tenant: string, file: string | undefined, choice: Asked & { revision?: string; secrets?: string }) =>
      withConfigurations(async (desk, acting) => {
        const { replaceTenant } = await import('../control/tenant-acts.ts');
        const { revision: seen, ...wanted } = await documentIn(read, file, choice.secrets);
        const revision = choice.revision ?? seen ?? '';
        const changed = await replaceTenant(acting, desk, tenant, wanted, requireRevision(revision, tenant));
        print(choice, changed, () => `The tenant ${tenant} is configured so from now on.`);
      }),
    );
  tenants
    .command('remove <tenant>')
    .description('remove a managed tenant; what it wrote elsewhere stays, and a file of its name counts from then on')
    .option('--revision <revision>', 'only if it still has this one')
    .option('--json', 'as JSON')
    .action((tenant: string, { revision, ...asked }: Asked & { revision?: string }) =>
      withConfigurations(async (desk, acting) => {
        const { readDocument } = await import('../control/managed-tenants.ts');
        const { removeTenant } = await import('../control/tenant-acts.ts');
        const seen = revision ?? (await readDocument(desk, tenant, () => true)).revision ?? '';
        const changed = await removeTenant(acting, desk, tenant, seen);
        print(asked, changed, () => renderRemoved(changed));
      }),
    );
  tenants
    .command('adopt <tenant>')
    .description('make the tenant of a file a managed one, as it is configured there; its state and logins stay')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      withConfigurations(async (desk, acting) => {
        const { adoptTenant } = await import('../control/tenant-acts.ts');
        const changed = await adoptTenant(acting, desk, tenant);
        print(
          asked,
          changed,
          () => `The tenant ${tenant} is managed from now on. Remove ${changed.file}: it does not count any more.`,
        );
      }),
    );
}

/**
 * A document with the revision that an export tells, and the secrets of a file beside it.
 * @throws MirrorError `settings`, code `file-unusable`
 */
async function documentIn(read: TenantCommands['read'], file: string | undefined, secretsFile: string | undefined) {
  const text = await read(file);
  const secrets = secretsFile === undefined ? {} : await secretsIn(await read(secretsFile));
  return { yaml: text.replace(REVISION_LINE, ''), revision: REVISION_LINE.exec(text)?.[1] ?? null, secrets };
}

async function secretsIn(text: string): Promise<Record<string, string>> {
  const value = await parsed(text);
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : null;
  if (entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
    return Object.fromEntries(entries);
  throw new MirrorError('the file of secrets is no mapping of names to texts', {
    ...{ actor: 'settings', code: 'file-unusable', retry: 'never' },
    remedy: 'write one a line, as NAME: "value"',
  });
}

/** What is no YAML is told without a word of it. */
async function parsed(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function requireRevision(revision: string, tenant: string): string {
  if (revision !== '') return revision;
  throw new MirrorError('it is not known which revision is to be replaced', {
    ...{ actor: 'conflict', code: 'revision-missing', retry: 'never' },
    remedy: `change what "clinic-mirror tenants export ${tenant}" prints, or give --revision`,
  });
}

function idOf(written: string): string {
  if (NAME.test(written)) return written;
  throw new InvalidArgumentError(NAME_REMEDY);
}

function renderSources(sources: readonly TenantSource[]): string {
  if (sources.length === 0) return 'There is no tenant.';
  return renderTable(
    ['tenant', 'configured by', 'revision'].map((heading) => ({ heading })),
    sources.map(({ tenant, file, revision }) => [tenant, file ?? 'managed', revision ?? '']),
  );
}

function renderDocument({ tenant, file, revision, yaml, secrets, faults }: TenantDocument): string {
  const where = file === null ? `managed, revision ${revision}` : `configured by ${file}, which is edited there`;
  return [
    wrap(`${tenant}: ${where}.`),
    ...(secrets.length === 0 ? [] : [wrap(`Kept sealed: ${secrets.join(', ')}.`)]),
    ...(faults.length === 0 ? [] : [renderFaults(faults)]),
    ...(yaml === null ? [] : ['', yaml.trimEnd()]),
  ].join('\n');
}

function renderCheck(faults: readonly ConfigurationFault[]): string {
  return faults.length === 0 ? 'It has no faults.' : renderFaults(faults);
}

function renderAccepted(accepted: readonly TenantChanged[]): string {
  if (accepted.length === 0) return 'None of them is record-forged: nothing was changed.';
  return accepted
    .map(({ tenant, revision }) =>
      wrap(
        revision === null
          ? `The tenant ${tenant} counts as removed from now on.`
          : `The tenant ${tenant} counts as Redis has it from now on, revision ${revision}.`,
      ),
    )
    .join('\n');
}

function renderRemoved({ tenant, file }: TenantChanged): string {
  if (file !== null) {
    return wrap(
      `The tenant ${tenant} is configured by ${file} from now on; its state and logins stay. That it has no faults is told by: clinic-mirror config check`,
    );
  }
  return wrap(`The tenant ${tenant} is removed. What is kept of it goes later, and what it wrote elsewhere stays.`);
}
