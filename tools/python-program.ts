import { join } from 'node:path';
import { type PackageChoice, withDependencies } from './debian-packages.ts';
import type { ServerCommand } from './server-command.ts';
import { librariesIn } from './unpacked-libraries.ts';

/**
 * How to start a module of Debian packages that lie unpacked in a folder, with a Python of its own: the modules of a distribution run
 * with the Python of that distribution only, and whichever Python comes first in PATH may be another.
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

/** Every machine on which Node runs has these; another copy beside the machine's loader would not work. */
const BASE_LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];

function isPartOfPython(packageName: string): boolean {
  return /^(python3|lib|zlib1g)/.test(packageName) && !BASE_LIBRARIES.includes(packageName);
}
