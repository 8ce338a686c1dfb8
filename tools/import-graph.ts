// The imports between the project's own files, for the tools that choose tests.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** Imports of one file that stay when the types are removed: paths from the project's folder, and names of packages. */
export type ImportsOf = (file: string) => readonly string[];

/** Reads imports below `root`, each file once: static and dynamic imports, and re-exports. */
export function importReader(root: string): ImportsOf {
  const known = new Map<string, readonly string[]>();
  return (file) => {
    const found = known.get(file) ?? runtimeImports(file, readFileSync(join(root, file), 'utf8'));
    known.set(file, found);
    return found;
  };
}

/** @param file path from the project's folder, from which relative imports are resolved */
export function runtimeImports(file: string, source: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, source).module;
  const specifiers = [
    ...staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) =>
      entries.filter(({ isType }) => !isType).flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
  ];
  return [...new Set(specifiers)].map((specifier) =>
    specifier.startsWith('.') ? join(dirname(file), specifier) : specifier,
  );
}

/** Source files of the project, as paths from `root`. */
export function sourceFiles(root: string): string[] {
  return globSync('{bin,src,examples,sandbox,demo,test,tools,bench}/**/*.{ts,js}', { cwd: root }).sort();
}

/**
 * Returns the given files, and files that import one of them, directly or not.
 * @param crosses whether the importers of a reached file are followed through an import
 */
export function importersOf(
  changed: Iterable<string>,
  files: readonly string[],
  importsOf: ImportsOf,
  crosses: (importer: string, imported: string) => boolean,
): Set<string> {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const imported of importsOf(file)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  }
  const reached = new Set(changed);
  for (const file of reached) {
    for (const importer of importers.get(file) ?? []) if (crosses(importer, file)) reached.add(importer);
  }
  return reached;
}
