/** Finds phrases that the project does not write, by the rules of idioms.yml. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { TextlintKernelDescriptor, type TextlintPluginCreator, type TextlintRuleModule } from '@textlint/kernel';
import { createLinter } from 'textlint';
import type { Prose } from './prose.ts';

/** A phrase in a file, with a suggestion. */
export interface Idiom {
  path: string;
  line: number;
  /** As textlint reports it: `phrase => suggestion`. */
  message: string;
}

const RULES = fileURLToPath(new URL('idioms.yml', import.meta.url));
/** Both packages are CommonJS, with their export in `default`; the rule has no types. */
const require = createRequire(import.meta.url);
/** Its manifest names an entry that linters cannot resolve in an import. */
const RULE = 'textlint-rule-prh';
const prh = require(RULE) as { default: TextlintRuleModule };
const text = require('@textlint/textlint-plugin-text') as { default: TextlintPluginCreator };

const descriptor = new TextlintKernelDescriptor({
  filterRules: [],
  rules: [{ ruleId: 'prh', rule: prh.default, options: { rulePaths: [RULES] } }],
  plugins: [{ pluginId: 'text', plugin: text.default, options: { extensions: ['.txt'] } }],
});
const linter = createLinter({ descriptor });

/** Lists the idioms of one file in the order of their lines. */
export async function idiomsIn({ path, text }: Prose): Promise<Idiom[]> {
  const { messages } = await linter.lintText(text, 'prose.txt');
  return messages.map(({ message, loc }) => ({ path, line: loc.start.line, message: message.replaceAll(/\s+/g, ' ') }));
}
