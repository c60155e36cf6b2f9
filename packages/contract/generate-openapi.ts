import { writeFileSync } from 'node:fs';
import { createOpenApi } from './openapi.ts';

/** Writes the committed document: `node packages/contract/generate-openapi.ts`. */
writeFileSync(new URL('./openapi.json', import.meta.url), `${JSON.stringify(createOpenApi(), null, 2)}\n`);
