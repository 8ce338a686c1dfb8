/** Finds phrases that only this project would write, by the rules of idioms.yml. */
import { fileURLToPath } from 'node:url';
import { TextlintKernelDescriptor } from '@textlint/kernel';
import textPlugin from '@textlint/textlint-plugin-text';
import { createLinter } from 'textlint';
import prh from 'textlint-rule-prh';
import type { Prose } from './prose.ts';

/** A phrase in a file, with a suggestion. */
export interface Idiom {
  path: string;
  line: number;
  /** As textlint reports it: `phrase => suggestion`. */
  message: string;
}

const RULES = fileURLToPath(new URL('idioms.yml', import.meta.url));

const descriptor = new TextlintKernelDescriptor({
  filterRules: [],
  rules: [{ ruleId: 'prh', rule: interop(prh), options: { rulePaths: [RULES] } }],
  plugins: [{ pluginId: 'text', plugin: interop(textPlugin), options: { extensions: ['.txt'] } }],
});
const linter = createLinter({ descriptor });

/** Lists the idioms of one file. */
export async function idiomsIn({ path, text }: Prose): Promise<Idiom[]> {
  const { messages } = await linter.lintText(text, 'prose.txt');
  return messages.map(({ message, loc }) => ({ path, line: loc.start.line, message: message.replaceAll(/\s+/g, ' ') }));
}

/** CommonJS packages can arrive with their exports in `default`. */
function interop<T>(module: T | { default: T }): T {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : (module as T);
}
