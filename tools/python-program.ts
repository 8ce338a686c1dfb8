import { join } from 'node:path';
import { type PackageChoice, withDependencies } from './debian-packages.ts';
import type { ServerCommand } from './server-command.ts';
import { librariesIn } from './unpacked-libraries.ts';

/**
 * Returns the command for a Python module from unpacked Debian packages, with the packages' own Python: a distribution's modules require
 * the distribution's Python, and the first Python in PATH may be another.
 */
export async function unpackedPython(folder: string, module: string): Promise<ServerCommand> {
  return {
    command: join(folder, 'usr/bin/python3'),
    args: ['-s', '-m', module],
    env: {
      PYTHONHOME: join(folder, 'usr'),
      PYTHONPATH: '',
      PYTHONUTF8: '1',
      LD_LIBRARY_PATH: await librariesIn(folder),
    },
  };
}

/** A package with the Python that it needs. */
export function withPython(packageName: string): PackageChoice {
  return (dependenciesOf) => withDependencies([packageName], isPartOfPython, dependenciesOf);
}

/** Present on every host with Node; a second copy would not work with the host's loader. */
const BASE_LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];

function isPartOfPython(packageName: string): boolean {
  return /^(python3|lib|zlib1g)/.test(packageName) && !BASE_LIBRARIES.includes(packageName);
}
