CREATE TABLE "restore_journal" (
	"organization_id" text NOT NULL,
	"restore_id" text NOT NULL,
	"page" integer NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "restore_journal_restore_id_page_pk" PRIMARY KEY("restore_id","page")
);
--> statement-breakpoint
ALTER TABLE "restore_journal" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "restores" ALTER COLUMN "backup_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "point_in_time" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "items" jsonb;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "scope" jsonb;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "began_at" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "undo_of" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "undone_by" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "force" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "cancel_requested_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "journal_envelope" jsonb;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "journal_key_id" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "journal_pages" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "conflicts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "conflict_sample" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "restore_journal" ADD CONSTRAINT "restore_journal_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "restore_journal" ADD CONSTRAINT "restore_journal_restore_id_restores_id_fk" FOREIGN KEY ("restore_id") REFERENCES "public"."restores"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "restore_journal_by_age" ON "restore_journal" USING btree ("created_at");--> statement-breakpoint
CREATE POLICY "tenant" ON "restore_journal" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("restore_journal"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("restore_journal"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "restore_journal" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);