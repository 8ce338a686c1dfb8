import { realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { message, withRemedy } from '../messages/message.ts';
import type { ManagedTenant } from './managed-tenant.ts';
import {
  type FoundSecret,
  type SecretReference,
  type SecretSchemas,
  type SecretScope,
  type SecretSource,
  secretSchemas,
  unusable,
} from './secret-reference.ts';

/** Below the configuration directory: one folder for each tenant, named by its id, with the secrets that its file may name. */
const SECRETS_FOLDER = 'secrets';
/** After the beginning that is the tenant's; without two underscores, so that no tenant's beginning is another's. */
const OWN_NAME = /^[A-Z0-9](?:_?[A-Z0-9])*$/;

/** Schemas of what tenants' files name as secrets: each tenant's file is told that tenant's alone. */
export interface TenantSecrets extends SecretSchemas {
  /**
   * Does what a tenant's file asks for. Outside of this nothing is told.
   * @param work ends before it returns: what goes on later would ask as somebody else
   * @param managed the tenant with the secrets that are kept sealed for it; none for one of a file
   */
  as<Result>(tenant: string, work: () => Result, managed?: ManagedTenant | null): Result;
}

/** The environment variable in which a tenant keeps a secret, such as `TENANT_STUDIO_ROSSI__DAV_PASSWORD` for `studio-rossi`. */
export function tenantVariable(tenant: string, name: string): string {
  return `TENANT_${tenant.toUpperCase().replaceAll('-', '_')}__${name}`;
}

/** The file in which a tenant keeps a secret, from the configuration directory on. */
export function tenantSecretFile(tenant: string, name: string): string {
  return join(SECRETS_FOLDER, tenant, name);
}

/**
 * Opens the secrets of tenants. A tenant's file may name variables that begin with the tenant's own beginning, and files that really lie
 * in the tenant's own folder, but for what the settings use.
 * @param ofSettings every secret that the settings name
 */
export function tenantSecrets(
  source: Omit<SecretSource, 'scope' | 'sealed'>,
  ofSettings: readonly SecretReference[],
): TenantSecrets {
  const used = usedBy(ofSettings, source.dir);
  let asking: { tenant: string; managed: ManagedTenant | null } | null = null;
  const whoAsks = () => {
    if (asking === null) throw new TypeError('a secret of a tenant was asked for in the name of none');
    return asking;
  };
  const scope = (): SecretScope => scopeOf(whoAsks().tenant, source.dir, used);
  const schemas = secretSchemas({
    ...source,
    scope: {
      variable: (name) => scope().variable(name),
      file: (fileName) => scope().file(fileName),
      realFile: (realName) => scope().realFile(realName),
    },
    sealed: (name) => sealedSecret(whoAsks().managed, name),
  });
  return {
    ...schemas,
    as(tenant, work, managed = null) {
      const before = asking;
      asking = { tenant, managed };
      try {
        return work();
      } finally {
        asking = before;
      }
    },
  };
}

function sealedSecret(managed: ManagedTenant | null, name: string): FoundSecret {
  if (managed === null) {
    return { fault: message('secret.not-managed'), remedy: message('secret.refer-outside') };
  }
  const { secrets } = managed.open();
  const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  return value === undefined ? unusable(withRemedy('secret.sealed-missing', { name })) : { value };
}

/** What the settings use: names of variables, and files with every link followed. */
interface Used {
  variables: ReadonlySet<string>;
  realFiles: ReadonlySet<string>;
}

function usedBy(references: readonly SecretReference[], dir: string): Used {
  const files = references.flatMap((where) => ('file' in where ? [resolve(dir, where.file)] : []));
  return {
    variables: new Set(references.flatMap((where) => ('env' in where ? [where.env] : []))),
    realFiles: new Set(files.map(realNameOf)),
  };
}

function scopeOf(tenant: string, dir: string, used: Used): SecretScope {
  const beginning = tenantVariable(tenant, '');
  const folder = resolve(dir, SECRETS_FOLDER, tenant) + sep;
  const ofSettings = unusable(withRemedy('secret.of-settings'));
  return {
    variable(name) {
      const own = name.startsWith(beginning) ? name.slice(beginning.length) : '';
      if (OWN_NAME.test(own)) return used.variables.has(name) ? ofSettings : null;
      return unusable(withRemedy('secret.other-variable', { name, prefix: beginning }));
    },
    file(fileName) {
      if (fileName.startsWith(folder)) return null;
      return unusable(withRemedy('secret.other-folder', { path: tenantSecretFile(tenant, '…') }));
    },
    realFile(realName) {
      // The folder itself is no link: whoever may make one would choose where it leads.
      const real = join(realNameOf(resolve(dir, SECRETS_FOLDER)), tenant) + sep;
      if (realName.startsWith(real)) return used.realFiles.has(realName) ? ofSettings : null;
      return unusable(withRemedy('secret.link-out', { folder: tenantSecretFile(tenant, '') }));
    },
  };
}

/** A name with every link followed; the name itself where nothing is there. */
function realNameOf(fileName: string): string {
  try {
    return realpathSync.native(fileName);
  } catch {
    return fileName;
  }
}
