import { fileURLToPath } from 'node:url';
import { allTestFiles } from '../test/support/tiers.ts';
import { importReader } from './import-graph.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
/** A test that imports one of these, directly or through helpers, starts a process or a server. */
const STARTERS =
  /^(tools\/guarded-process\.ts|sandbox\/.*|demo\/.*|bench\/.*|node:(child_process|net|http|https|http2|tls))$/;
/** What is looked into; `src/` starts nothing by being imported. */
const OURS = /^(test|tools)\/.*\.ts$/;
/** They start nothing and take minutes. */
const LONG = ['test/simulation/'];

const importsIn = importReader(projectRoot);

/** Tells whether a test file starts neither a server nor a process, and does not take minutes. @param file path from the project's folder */
export function isUnitTest(file: string): boolean {
  return !LONG.some((folder) => file.startsWith(folder)) && !starts(file);
}

/** @returns every file of unit tests, as paths from the project's folder */
export function unitTestFiles(): string[] {
  return allTestFiles(projectRoot).filter(isUnitTest);
}

/** @returns every test file that imports fast-check itself */
export function propertyTestFiles(): string[] {
  return allTestFiles(projectRoot).filter((file) => importsIn(file).includes('fast-check'));
}

function starts(test: string): boolean {
  const reached = new Set([test]);
  for (const file of reached) {
    if (STARTERS.test(file)) return true;
    if (OURS.test(file)) for (const module of importsIn(file)) reached.add(module);
  }
  return false;
}
