import type { ErrorTexts } from '../core/model/errors.ts';
import { shownLine } from '../core/model/text.ts';
import { message, render, type Text, withRemedy } from '../messages/message.ts';

/** A fault in the configuration. Contains no secrets. */
export interface ConfigurationFault {
  /** File name as given, including the configuration directory. */
  file: string;
  /** Line from 1; null for the file as a whole. */
  line: number | null;
  /** Path in the file, such as `targets.rossi.window.pastDays`; empty for the file as a whole. */
  path: string;
  /** The fault, with the found value. */
  message: string;
  /** Next step. */
  remedy: string;
  /** Message and remedy for any language. */
  texts: ErrorTexts;
  /** Another tenant that the message names; it is hidden from administrators who may not see that tenant. */
  other?: string;
}

/** Returns a fault of a file. @param at path in the file; default: the file as a whole */
export function faultIn(
  file: string,
  text: Text,
  remedy: Text,
  { line = null, path = '' }: Partial<Pick<ConfigurationFault, 'line' | 'path'>> = {},
): ConfigurationFault {
  return { file, line, path, message: render(text), remedy: render(remedy), texts: { message: text, remedy } };
}

/** Hides faults and names of tenants that an administrator must not see. @param maySee decides whether a tenant is visible */
export function faultsAsSeen(
  faults: readonly ConfigurationFault[],
  maySee: (tenant: string) => boolean,
): ConfigurationFault[] {
  return faults.map(({ other, ...fault }) => {
    if (other === undefined || maySee(other)) return fault;
    return faultIn(fault.file, ...withRemedy('settings.other-tenant'), fault);
  });
}

/** An unusable configuration, which the operator must change. Contains every fault of every file. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly actor = 'settings';
  readonly code = 'configuration';
  readonly retry = 'never';
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[]) {
    const inOrder = inReadingOrder(faults);
    super(renderFaults(inOrder));
    this.faults = inOrder;
  }
}

const WIDTH = 100;

/** Sorts by file and line. */
function inReadingOrder(faults: readonly ConfigurationFault[]): ConfigurationFault[] {
  const files = Map.groupBy(faults, (fault) => fault.file);
  return [...files.values()].flatMap((ofFile) => ofFile.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)));
}

/** Renders faults for a terminal, by file and line, in at most 100 columns. */
export function renderFaults(faults: readonly ConfigurationFault[]): string {
  const files = Map.groupBy(inReadingOrder(faults), (fault) => fault.file);
  const blocks = [...files].map(([file, ofFile]) => renderFile(file, ofFile));
  return [render(message('settings.faults', { count: faults.length })), ...blocks].join('\n\n');
}

function renderFile(file: string, faults: readonly ConfigurationFault[]): string {
  const parts = faults.flatMap((fault) => {
    const where = [fault.line === null ? '' : `line ${fault.line}`, fault.path].filter((part) => part !== '');
    const head = where.length === 0 ? fault.message : `${where.join(', ')}: ${fault.message}`;
    return [...wrap(head, '  ', '    '), ...wrap(`→ ${fault.remedy}`, '    ', '      ')];
  });
  return [...wrap(file, '', '  '), ...parts].join('\n');
}

/**
 * Wraps a text to lines of at most 100 columns, and splits longer words. Characters that could manipulate the terminal are removed.
 */
function wrap(text: string, firstIndent: string, nextIndent: string): string[] {
  const lines: string[] = [];
  let line = firstIndent;
  let isEmpty = true;
  for (const word of shownLine(text)
    .split(' ')
    .flatMap((long) => pieces(long, WIDTH - nextIndent.length))) {
    const joined = isEmpty ? line + word : `${line} ${word}`;
    if (isEmpty || joined.length <= WIDTH) {
      line = joined;
    } else {
      lines.push(line);
      line = nextIndent + word;
    }
    isEmpty = false;
  }
  return [...lines, line];
}

function pieces(word: string, length: number): string[] {
  if (word.length <= length) return [word];
  return [word.slice(0, length), ...pieces(word.slice(length), length)];
}
