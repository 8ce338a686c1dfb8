import { join } from 'node:path';
import { listYamlFiles } from './list-files.ts';
import { CLINIC_CONNECTION } from './tenant-schema.ts';
import { keysAt, readYamlFile } from './yaml-file.ts';

/** Names in the files of a configuration; what can't be read names nothing. */
export function configuredNames(dir: string) {
  const folder = join(dir, 'tenants');
  const keysOf = (tenant: string, part: string) => {
    const read = readYamlFile(join(folder, `${tenant}.yaml`));
    return 'file' in read ? keysAt(read.file, [part]) : [];
  };
  return {
    tenants: () => listYamlFiles(folder).files.map(({ id }) => id),
    targets: (tenant: string) => keysOf(tenant, 'targets'),
    connections: (tenant: string) => [CLINIC_CONNECTION, ...keysOf(tenant, 'connections')],
  };
}
