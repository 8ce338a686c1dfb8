import { realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Pieces } from '../core/model/pieces.ts';
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

/** Directory below the configuration directory with one folder of secrets per tenant id. */
const SECRETS_FOLDER = 'secrets';
/** Name after the tenant's prefix, without two underscores, so that prefixes cannot overlap. */
const OWN_NAME = /^[A-Z0-9](?:_?[A-Z0-9])*$/;

/** Secret schemas that give each tenant's file access to that tenant's secrets only. */
export interface TenantSecrets extends SecretSchemas {
  /**
   * Runs work with access to a tenant's secrets. Outside of the work no secret is accessible.
   * @param work must end before it returns: later work would run without this tenant's access
   * @param managed a managed tenant with its stored secrets; none for a file
   */
  as<Result>(tenant: string, work: () => Result, managed?: ManagedTenant | null): Result;
  /** Runs each piece like `as`: between two pieces, no secret is accessible. */
  inPieces<Result>(tenant: string, work: Pieces<Result>, managed?: ManagedTenant | null): Pieces<Result>;
}

/** Returns the environment variable for a tenant's secret, such as `TENANT_STUDIO_ROSSI__DAV_PASSWORD` for `studio-rossi`. */
export function tenantVariable(tenant: string, name: string): string {
  return `TENANT_${tenant.toUpperCase().replaceAll('-', '_')}__${name}`;
}

/** Returns the file of a tenant's secret, relative to the configuration directory. */
export function tenantSecretFile(tenant: string, name: string): string {
  return join(SECRETS_FOLDER, tenant, name);
}

/**
 * Opens the secrets of tenants. A tenant's file may use variables with the tenant's prefix, and files in the tenant's real folder, except
 * those that the settings use.
 * @param ofSettings every secret in the settings
 */
export function tenantSecrets(
  source: Omit<SecretSource, 'scope' | 'sealed'>,
  ofSettings: readonly SecretReference[],
): TenantSecrets {
  const used = usedBy(ofSettings, source.dir);
  let asking: { tenant: string; managed: ManagedTenant | null } | null = null;
  const whoAsks = () => {
    if (asking === null) throw new TypeError('a secret of a tenant was requested without a tenant');
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
  const as: TenantSecrets['as'] = (tenant, work, managed = null) => {
    const before = asking;
    asking = { tenant, managed };
    try {
      return work();
    } finally {
      asking = before;
    }
  };
  return {
    ...schemas,
    as,
    *inPieces(tenant, work, managed) {
      for (;;) {
        const step = as(tenant, () => work.next(), managed);
        if (step.done === true) return step.value;
        yield step.value;
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

/** Variables and real file names that the settings use. */
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
      // The folder must not be a link, which could lead anywhere.
      const real = join(realNameOf(resolve(dir, SECRETS_FOLDER)), tenant) + sep;
      if (realName.startsWith(real)) return used.realFiles.has(realName) ? ofSettings : null;
      return unusable(withRemedy('secret.link-out', { folder: tenantSecretFile(tenant, '') }));
    },
  };
}

/** Returns the real name after following all links, or the name itself if missing. */
function realNameOf(fileName: string): string {
  try {
    return realpathSync.native(fileName);
  } catch {
    return fileName;
  }
}
