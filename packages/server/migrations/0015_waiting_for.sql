ALTER TABLE "backups" ADD COLUMN "waiting_for" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "irreversible_reasons" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "waiting_for" text;