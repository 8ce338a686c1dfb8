import { parseDocument } from 'yaml';
import { isJsonObject, type JsonObject } from '../../clinic/http/rows.ts';
import { MirrorError } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';
import { withoutStacks } from '../../model/without-stacks.ts';

/** Longest document that is read, in characters. Those of large systems are below 5 million. */
const LONGEST_TEXT = 20_000_000;
/** Aliases beyond this count as an attack on memory. */
const MOST_ALIASES = 100;

/**
 * An OpenAPI 2.0 or 3.x document as plain JSON (swagger.io/specification/v2, spec.openapis.org/oas/v3.1.0), from JSON or YAML.
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`: the operator gives another file
 */
export function readOpenApi(text: string): JsonObject {
  if (text.length > LONGEST_TEXT) {
    throw unusable('spec-too-large', `the document is longer than ${LONGEST_TEXT / 1e6} million characters`);
  }
  const document = parse(text);
  if (!isJsonObject(document) || !isJsonObject(document.paths) || versionOf(document) === null) {
    throw unusable('spec-not-openapi', 'the document is no OpenAPI 2.0 or 3.x: it has no version or no paths');
  }
  return document;
}

/** 2 or 3, null for neither. */
export function versionOf(document: JsonObject): 2 | 3 | null {
  if (String(document.swagger).startsWith('2.')) return 2;
  return String(document.openapi).startsWith('3.') ? 3 : null;
}

/** JSON first: it is much faster, and a parser of YAML would take tabs in it amiss. */
function parse(text: string): unknown {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const value = parseJson(plain);
  if (value !== undefined) return value;
  try {
    const options = { prettyErrors: false, logLevel: 'silent', uniqueKeys: false } as const;
    const document = withoutStacks(() => parseDocument(plain, options));
    if (document.errors.length === 0) return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch {
    // Too many aliases, or nesting beyond the stack: told below like any other text that can't be read.
  }
  throw unusable('spec-unreadable', 'the document is neither JSON nor YAML that can be read');
}

function unusable(code: string, message: string): MirrorError {
  return new MirrorError(message, {
    actor: 'settings',
    code,
    retry: 'never',
    remedy: "give the file of the clinic system's own OpenAPI document, as JSON or YAML",
  });
}
