import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// As the service does: from the second time on it starts in half the time.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'));
await import('./demo-story.ts');
